# The configuration: one log in each line, and what is to be done with it.

# read_config FILE FUNCTION: calls the function for each log, with `log`, `keep` and `size` set.
# A line that is wrong is told, and nothing after it is done.
read_config() {
    number=0
    while read -r log settings || [ -n "$log" ]; do
        number=$((number + 1))
        case $log in '' | '#'*) continue ;; esac
        keep=4
        size=1048576
        for setting in $settings; do
            value=${setting#*=}
            case $setting in
            keep=*)
                case $value in '' | 0* | *[!0-9]*) wrong "$1" "$setting" ;; esac
                keep=$value
                ;;
            size=*) size=$(parse_size "$value") || wrong "$1" "$setting" ;;
            *) wrong "$1" "$setting" ;;
            esac
        done
        "$2"
    done < "$1"
}

wrong() {
    echo "turn: $1:$number: what is '$2'?" >&2
    exit 2
}
