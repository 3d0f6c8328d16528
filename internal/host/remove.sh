# shellcheck shell=sh
# Removes a file and makes that last. Arguments: the file; the SHA-256 of what has to be there still, or "any". Status 76 says that it is
# another one by now.
set -eu
[ -e "$1" ] || [ -L "$1" ] || exit 0
[ "$2" = any ] || [ "$(sha256sum <"$1")" = "$2  -" ] || exit 76
rm -f -- "$1"
sync -- "$(dirname -- "$1")"
