# Logs are turned over by their size.

printf new > a.log
expect "a small log is left alone" "" "$(turn 'a.log size=3')"
expect "and stays as it was" "new-" "$(written a.log a.log.1)"

printf 1 > a.log.1
printf 2 > a.log.2
expect "a large log is named" "a.log" "$(turn 'a.log size=2 keep=2')"
expect "each old log moves on, and the oldest goes" "new1-" "$(written a.log a.log.1 a.log.2 a.log.3)"

printf newer > a.log
expect "a gap between old logs stays one" "a.log" "$(rm a.log.1; turn 'a.log size=2 keep=3')"
expect "so that no log is lost" "newer-1" "$(written a.log a.log.1 a.log.2 a.log.3)"

printf large > b.log
chmod 640 b.log
expect "with -n it is only named" "b.log" "$(turn 'b.log size=1' -n)"
expect "and nothing is done" "large-" "$(written b.log b.log.1)"
turn 'b.log size=1' > out
expect "the mode stays" "-rw-r----- -rw-r-----" "$(ls -l b.log b.log.1 | cut -c1-10 | xargs)"

expect "a log that is not there is left alone" "" "$(turn 'c.log')"
