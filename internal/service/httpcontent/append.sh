# shellcheck shell=sh
# Puts standard input behind the first bytes of a part, which will be a file of store.sh's. Arguments: the directory of these, the file's SHA-256,
# how many bytes of it came before.
set -u
part=$1/$2.part
mkdir -p -- "$1" || exit 1
[ "$3" != 0 ] || : >"$part" || exit 1
[ "$(stat -c %s -- "$part")" -ge "$3" ] || { echo "what came before is missing" >&2 && exit 1; }
truncate -s "$3" -- "$part" && cat >>"$part"
