# shellcheck shell=sh
# Has systemd forget a drop-in that is gone, and removes its directory where that is empty. Argument: the drop-in.
[ ! -e "$1" ] && [ -d "${1%/*}" ] || exit 0
rmdir --ignore-fail-on-non-empty "${1%/*}" && systemctl daemon-reload
