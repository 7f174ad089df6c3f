#!/bin/sh
# Plays implementer and reviewer of the story. What it does follows from the files that it finds and
# never from the number of an attempt: after a kill the same work is done under another number.
# `lower` and `from A` land first; `upper` and `from X` are under way before they do, and reach
# the land gate after them. So the merge that is red and the one in conflict do not depend on speed.
set -eu
beside=$(dirname "$0")
flags=$beside/flags
mkdir -p "$flags"
unit=${FORGE_CALL%%#*}
item=${unit%/*}
item=${item#*.}

# Waits for something that another agent does, for at most a minute.
until_so() {
    n=0
    until "$@"; do
        n=$((n + 1))
        if [ "$n" -gt 1200 ]; then
            echo "waited in vain for $*" >&2
            exit 1
        fi
        sleep 0.05
    done
}

# Whether the run's result has this text in this file.
has_landed() {
    for head in $(git --git-dir="$beside/repo/.git" for-each-ref --format='%(objectname)' 'refs/forge/*/head'); do
        if git --git-dir="$beside/repo/.git" show "$head:$1" 2>/dev/null | grep -q "$2"; then
            return 0
        fi
    done
    return 1
}

says() {
    printf '{"forge":1,"attempt":"%s","status":"done","summary":"%s"%s}\n' "$FORGE_CALL" "$item" "$1" \
        > "$FORGE_OUTBOX/result.json"
}

implement() {
    mkdir -p docs ports src/code
    case $item in
    lower)
        until_so test -e "$flags/upper"
        echo 8080 > ports/lower
        ;;
    upper)
        touch "$flags/upper"
        if [ -e ports/lower ]; then echo 8081 > ports/upper; else echo 8080 > ports/upper; fi
        ;;
    shared)
        until_so test -e "$flags/other"
        echo "from A" > shared.txt
        ;;
    other)
        touch "$flags/other"
        if grep -q "from A" shared.txt; then echo "from A and X" > shared.txt; else echo "from X" > shared.txt; fi
        ;;
    refused)
        if [ -e refused.txt ]; then echo "done" > refused.txt; else echo "UNFINISHED" > refused.txt; fi
        ;;
    code)
        if [ -e src/code/it ]; then echo "works" > src/code/it; else echo "broken" > src/code/it; fi
        ;;
    wide)
        if [ -e src/wide ]; then echo "second" > src/wide; else echo "first" > src/wide; fi
        ;;
    stray)
        if [ -e docs/stray.md ]; then
            rm -f STRAY.md
        else
            echo "about it" > docs/stray.md
            echo "nobody asked for this" > STRAY.md
        fi
        ;;
    esac
    says ""
}

review() {
    case $item in
    upper) until_so has_landed ports/lower 8080 ;;
    other) until_so has_landed shared.txt "from A" ;;
    esac
    if [ "$item" = wide ] && grep -q first src/wide; then
        says ',"verdict":"revise","findings":[{"severity":"major","path":"src/wide","what":"it must be the second"}]'
    else
        says ',"verdict":"pass","findings":[]'
    fi
}

case $FORGE_CALL in
*/review#*) review ;;
*) implement ;;
esac
