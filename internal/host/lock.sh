# shellcheck shell=sh
# Holds a lock, after lockdir.sh, for as long as it reads signs of life, until it reads another word or the end. Arguments: the directory;
# the lock's name; who holds it. It prints "wait HOLDER" for as long as another holds the lock, then "held". The lock lives on descriptor 9,
# which no child may inherit: it would outlive the shell. An empty file says as well as none that nobody holds it. Without a sign of life
# for two minutes the machine takes the lock back.
exec 9>>"$1/$2.lock" || exit 1
status=0
flock -n -E 99 9 || status=$?
while [ "$status" = 99 ]; do
  printf 'wait %s\n' "$(head -n 1 "$1/$2.holder" 2>/dev/null 9>&-)" || exit 1
  status=0
  flock -w 3 -E 99 9 || status=$?
done
[ "$status" = 0 ] || exit "$status"
printf '%s\n' "$3" >"$1/$2.holder" || exit 1
printf 'held\n' || exit 1
while [ "$(timeout 120 head -c 1 9>&-)" = . ]; do :; done
: >"$1/$2.holder"
