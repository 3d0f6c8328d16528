# shellcheck shell=sh
# Prints a line with the status of a command that start.sh runs, empty while it runs, and what of its output has come since. At its end its
# messages go to standard error. Arguments: its directory; the first byte to print, from 1 on.
printf '%s\n' "$(cat "$1/status" 2>/dev/null)"
tail -c "+$2" "$1/out"
[ ! -s "$1/status" ] || cat "$1/err" >&2
