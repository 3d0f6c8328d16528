# shellcheck shell=sh
# Begins every script that runs under a lock: it ends with status 244 where the lock's holder is another one by now. Arguments, before those
# of the script: the lock's file with the holder; the holder.
{ IFS= read -r holder <"$1"; } 2>/dev/null
[ "$holder" = "$2" ] || exit 244
shift 2
