# shellcheck shell=sh
# Installs packages by dnf, which waits for its own locks, or by what smaller images have in its place; it removes none for them. Its output
# goes to a file, as that of apt.sh. Arguments: those of apt.sh. Where it fails, the end of the file goes to standard error.
log=$1
shift 2
for dnf in dnf microdnf yum; do
  command -v "$dnf" >/dev/null 2>&1 && break
done
{ date; "$dnf" -y install "$@"; } >"$log" 2>&1 </dev/null && exit 0
tail -n 30 -- "$log" >&2
exit 1
