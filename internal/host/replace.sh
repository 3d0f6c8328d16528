# shellcheck shell=sh
# Puts its input in the place of a file. A symbolic link stays: what it leads to is replaced. Arguments: the file; its mode and its
# owner:group, each "" for that of the file that is there; the SHA-256 of what has to be there still, "none" for no file, "any" for whatever.
# Status 76 says that it is another one by now.
set -eu
mode=$2 owner=$3 was=$4
lead "$1"
# shellcheck disable=SC2154 # lead sets file
dir=$(dirname -- "$file")
[ -d "$dir" ] || (umask 022 && mkdir -p -- "$dir")
umask 077
new=$(mktemp "$dir/.virtcluster.XXXXXXXX")
trap 'rm -f -- "$new"' EXIT
trap 'exit 1' HUP INT TERM PIPE
cat >"$new"
made=yes
if [ -e "$file" ]; then
	made=
	mode=${mode:-$(stat -c %a -- "$file")} owner=${owner:-$(stat -c %u:%g -- "$file")}
fi
chown -- "${owner:-root:root}" "$new"
chmod -- "${mode:-644}" "$new"
[ -n "$made" ] || inherit "$file" "$new"
sync -- "$new"
case $was in
any) ;;
none) [ -n "$made" ] || exit 76 ;;
*) [ -z "$made" ] && [ "$(sha256sum <"$file")" = "$was  -" ] || exit 76 ;;
esac
place "$new" "$file"
trap - EXIT
sync -- "$dir"
[ -z "$made" ] || ! command -v restorecon >/dev/null 2>&1 || restorecon -- "$file" || :
