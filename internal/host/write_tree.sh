# shellcheck shell=sh
# Writes the files of its input below a directory. Arguments: the input's form, "tar" for an archive, "lines" for a line "mode owner
# base64(path)" and a line base64(content) for each file; the directory; the accounts by name that have files there, each "u:USER" or "g:GROUP".
# Accounts are looked up first, as tar silently takes the number for a name that it does not know. Status 45 says that there is no tar.
set -eu
form=$1 root=$2
shift 2
[ "$form" != tar ] || command -v tar >/dev/null 2>&1 || exit 45
umask 077
for account in "$@"; do
  case $account in
  u:*) id -u -- "${account#u:}" >/dev/null ;;
  g:*) getent group "${account#g:}" >/dev/null || { echo "no group ${account#g:}" >&2; exit 1; } ;;
  esac
done
mkdir -p -- "$root"
case $form in
tar)
  tar -xf - -C "$root" --same-owner -p || {
    status=$?
    df -hP -- "$root" >&2 # tar does not say that the disk is full
    exit "$status"
  }
  ;;
lines)
  while read -r mode owner name; do
    name=$root/$(printf %s "$name" | base64 -d)
    mkdir -p -- "$(dirname -- "$name")"
    read -r content
    printf %s "$content" | base64 -d >"$name"
    chown -- "$owner" "$name"
    chmod -- "$mode" "$name"
  done
  ;;
esac
if command -v restorecon >/dev/null 2>&1; then restorecon -R -- "$root" || :; fi
