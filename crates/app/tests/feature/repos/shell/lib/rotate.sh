# Turning one log over.

# rotate LOG KEEP: LOG becomes LOG.1, LOG.1 becomes LOG.2, and so on; of old ones only KEEP stay.
# LOG itself is there again, empty, with the same mode.
rotate() {
    rm -f "$1.$2"
    old=$2
    while [ "$old" -gt 1 ]; do
        newer=$((old - 1))
        if [ -f "$1.$newer" ]; then
            mv "$1.$newer" "$1.$old"
        fi
        old=$newer
    done
    cp -p "$1" "$1.1"
    : > "$1"
}
