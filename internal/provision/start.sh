# shellcheck shell=sh
# Starts a unit, which is its argument. Where that fails, the daemon's own last words go to standard error.
systemctl is-active --quiet "$1" && exit 0
systemctl start "$1" && exit 0
journalctl -q --no-pager -o cat -n 10 -u "$1" >&2
exit 1
