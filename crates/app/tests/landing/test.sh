#!/bin/sh
# The checks of the project in the story: nothing is broken, and no port is used twice. Each
# start is noted outside, so that a check that is started twice is seen.
echo "$KEEPER_MARK" >> "$HOME/checks.log"
if grep -rq broken src 2>/dev/null; then
    echo "not ok 1 - something is broken"
    exit 1
fi
twice=$(cat ports/* 2>/dev/null | sort | uniq -d)
if [ -n "$twice" ]; then
    echo "not ok 2 - the port $twice is used twice"
    exit 1
fi
echo "ok 1 - all is well"
