# shellcheck shell=sh
# Has systemd read a drop-in that came, changed or went. A reload keeps the limits that the process has, so a running one is given more files,
# but where it may have more already; a machine that does not let root do that leaves the answer to HAProxy. Arguments: the drop-in's
# directory; how many files, or "".
set -e
systemctl daemon-reload
[ ! -d "$1" ] || rmdir --ignore-fail-on-non-empty "$1"
main=$(systemctl show --property=MainPID --value haproxy.service)
[ -n "$2" ] && [ "${main:-0}" != 0 ] || exit 0
has=$(sed -n 's/^Max open files *[^ ]* *\([^ ]*\) .*/\1/p' "/proc/$main/limits")
[ "$has" = unlimited ] || [ "$has" -ge "$2" ] || prlimit --pid="$main" --nofile=":$2" || :
