# shellcheck shell=sh
# Makes named load what is on disk. Arguments: "reconfig" where named.conf changed, else ""; our directory where files went, of which what
# got empty is removed, else ""; the views that went, whose trust anchors named keeps in files of its own, by the name of the view or its
# hash, and never removes. Input: the zones that named has and whose files changed, one "ZONE VIEW SERIAL" a line; whether they are loaded
# is for verify.sh to tell.
set -u
# reconfigure has named read its configuration. rndc waits for a minute: on a machine that takes longer named is at it, and is asked again.
reconfigure() {
	for _ in 1 2 3; do
		said=$(rndc reconfig 2>&1) && return
		case $said in *"timed out"*) ;; *) break ;; esac
	done
	printf '%s\n' "$said" >&2
	journalctl -u named -n 20 --no-pager -o cat >&2
	return 1
}
if ! systemctl is-active --quiet named; then
	systemctl reset-failed named 2>/dev/null
	systemctl enable --quiet named 2>/dev/null
	systemctl start named || { journalctl -u named -n 20 --no-pager -o cat >&2; exit 1; }
else
	[ "$1" != reconfig ] || reconfigure || exit 1
	while read -r zone view _; do rndc reload "$zone" IN "$view" >/dev/null 2>&1; done
fi
if [ -n "$2" ] && [ -d "$2" ]; then find "$2" -depth -type d -empty -delete; fi
shift 2
[ $# -gt 0 ] || exit 0
keys=$(named-checkconf -p 2>/dev/null | sed -n 's/^\tmanaged-keys-directory "\(.*\)";$/1\1/p; s/^\tdirectory "\(.*\)";$/2\1/p' | sort | head -n 1)
keys=${keys#?}
[ -n "$keys" ] || exit 0
for view; do
	hash=$(printf %s "$view" | sha256sum)
	for name in "$view" "${hash%% *}" "$(printf %.16s "$hash")"; do
		case $name in */*) ;; *) rm -f -- "$keys/$name.mkeys" "$keys/$name.mkeys.jnl" ;; esac
	done
done
