#!/bin/sh
# Runs all tests, one line for each: `ok N - what`, or `not ok N - what` and why.
n=0
failed=0
expect() {
    n=$((n + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $n - $1"
    else
        failed=$((failed + 1))
        echo "not ok $n - $1"
        echo "  expected: $2"
        echo "  actual:   $3"
    fi
}
for file in tests/*.sh; do
    . "./$file"
done
echo "1..$n"
[ "$failed" -eq 0 ]
