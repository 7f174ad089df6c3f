#!/bin/sh
# The person's own hook: what is marked as unfinished is not committed.
if git diff --cached | grep -q '^+.*UNFINISHED'; then
    echo "what is unfinished is not committed"
    exit 1
fi
