# shellcheck shell=sh
# Asks named for its status. One that has just been started listens a moment later; one that does not answer at all is waited for as long as
# rndc itself would. Where it cannot be told anything, why goes to standard error, and the status is 1.
for pause in 0.1 0.2 0.4 0.8 1 0; do
	words=$(timeout 60 rndc status 2>&1 >/dev/null)
	status=$?
	[ $status != 0 ] || exit 0
	[ $status != 124 ] || words="named runs, and does not answer rndc within 60 seconds"
	case $words in
	*"connection refused"*) sleep $pause ;;
	*) break ;;
	esac
done
printf '%s\n' "$words" >&2
exit 1
