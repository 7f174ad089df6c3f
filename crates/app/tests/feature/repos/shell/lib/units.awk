# Makes a shell function of units.txt: `unit_bytes k` prints 1024.
# A line is a unit of one letter and its bytes; anything else is refused.

BEGIN { print "unit_bytes() {"; print "    case $1 in" }
NF == 2 && $1 ~ /^[A-Za-z]$/ && $2 ~ /^[0-9]+$/ { printf "    %s) echo %s ;;\n", $1, $2; next }
{ printf "units.txt:%d: expected a unit and its bytes\n", NR > "/dev/stderr"; failed = 1; exit }
END { if (failed) exit 1; print "    *) return 1 ;;"; print "    esac"; print "}" }
