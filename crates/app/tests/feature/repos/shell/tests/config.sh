# The configuration, and sizes.

head -c 2000 /dev/zero > a.log
expect "sizes have units" "" "$(turn 'a.log size=2k' -n)"
expect "bytes need none" "a.log" "$(turn 'a.log size=1999' -n)"
expect "without a size it is 1M" "" "$(turn 'a.log' -n)"
expect "comments and empty lines are left alone" "a.log" "$(turn '# logs

a.log size=1' -n)"

for wrong in size= size=k size=1T size=1kk keep=0 keep=x keep= colour=red; do
    expect "$wrong is refused" "turn: turn.conf:1: what is '$wrong'?
exit 2" "$(turn "a.log $wrong")"
done

expect "logs before a wrong line are done" "a.log
turn: turn.conf:2: what is 'x'?
exit 2" "$(turn 'a.log size=1
a.log x')"

expect "the configuration must be there" "turn: cannot read none
2" "$(sh "$top/bin/turn" none 2>&1; echo $?)"
expect "and be named" "usage: turn [-n] CONFIGURATION
2" "$(sh "$top/bin/turn" 2>&1; echo $?)"
