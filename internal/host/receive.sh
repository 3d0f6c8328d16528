# shellcheck shell=sh
# Begins every script that reads its standard input: it takes all of it first, and ends where that is not what was sent, as a connection
# that breaks looks like the end of the input. Arguments, before those of the script: the input's length in bytes, its SHA-256.
received=$(umask 077 && mktemp /run/virtcluster-input.XXXXXXXX) || exit 1
exec 8<>"$received"
rm -f -- "$received" # descriptor 8 keeps it, for as long as this process lives
cat >&8
case $(sha256sum </proc/self/fd/8) in
"$2 "*) ;;
*)
	echo "the input ended early: $(wc -c </proc/self/fd/8) of $1 bytes came; nothing was done with it" >&2
	exit 74
	;;
esac
exec </proc/self/fd/8 8>&-
shift 2
