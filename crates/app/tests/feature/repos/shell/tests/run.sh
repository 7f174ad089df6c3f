#!/bin/sh
# Runs all tests, one line for each: each file of tests/ but this one, in a folder of its own.
top=$(cd "$(dirname "$0")/.." && pwd)
n=0
failed=0

# expect WHAT WANTED ACTUAL
expect() {
    n=$((n + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $n - $1"
    else
        failed=$((failed + 1))
        echo "not ok $n - $1"
        printf '  wanted: %s\n  actual: %s\n' "$2" "$3"
    fi
}

# turn CONFIGURATION-TEXT [OPTION]: its output, both kinds, and its exit code if that is not 0.
turn() {
    printf '%s\n' "$1" > turn.conf
    shift
    sh "$top/bin/turn" "$@" turn.conf 2>&1 || echo "exit $?"
}

# written FILE…: what is in them, or `-` for each that is not there.
written() {
    for file in "$@"; do
        if [ -f "$file" ]; then cat "$file"; else printf -; fi
    done
}

for file in "$top"/tests/*.sh; do
    [ "$file" = "$top/tests/run.sh" ] && continue
    folder=$(mktemp -d)
    cd "$folder" || exit 1
    . "$file"
    cd / && rm -rf "$folder"
done
echo "1..$n"
[ "$failed" -eq 0 ]
