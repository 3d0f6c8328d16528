# shellcheck shell=sh
# Starts, reloads or stops keepalived. A unit that failed too often would refuse to start; one whose process ended as it came up is started
# once more. Arguments: "reload" where the unit's drop-in changed, else ""; the drop-in's directory where the drop-in went, else ""; "stop"
# where there is no configuration any more, else ""; the files that its instances watch. Each that is missing is made: keepalived 2.3 does so as
# it starts, not as it reloads, and without them a machine cannot be told to hand its addresses over.
set -e
[ "$1" != reload ] || systemctl daemon-reload
[ ! -d "$2" ] || rmdir --ignore-fail-on-non-empty "$2"
[ "$3" != stop ] || exec systemctl stop keepalived.service
shift 3
umask 077
for f; do [ -e "$f" ] || echo 0 >"$f"; done
if systemctl is-active --quiet keepalived.service; then exec systemctl reload keepalived.service; fi
systemctl reset-failed keepalived.service 2>/dev/null || :
systemctl start keepalived.service && exit
sleep 0.5
exec systemctl start keepalived.service
