# Sizes of files, and sizes as people write them.

# size_of FILE: its bytes.
size_of() {
    wc -c < "$1" | tr -d ' '
}

# parse_size TEXT: 10k as 10240; fails if it is no size.
parse_size() {
    case $1 in
    *[!0-9]*)
        number=${1%?}
        case $number in '' | *[!0-9]*) return 1 ;; esac
        bytes=$(unit_bytes "${1#"$number"}") || return 1
        echo $((number * bytes))
        ;;
    '') return 1 ;;
    *) echo "$1" ;;
    esac
}
