# shellcheck shell=sh
# Runs a command and hands its output back: "i" and the output itself where that is small, "f" and the file that holds it where it is not,
# or "t" where it is too long to be taken at all. Arguments: the file for the input, which goes with the command, "" for none; how many
# bytes are small; how many are not too long; the command. The status is the command's.
in=$1 limit=$2 most=$3
shift 3
out=$(mktemp /run/virtcluster-out.XXXXXXXX) || exit 1
if [ -n "$in" ]; then
  "$@" <"$in" >"$out"
  status=$?
  rm -f -- "$in"
else
  "$@" >"$out"
  status=$?
fi
size=$(wc -c <"$out")
if [ "$size" -le "$limit" ]; then
  printf i
  cat -- "$out"
  rm -f -- "$out"
elif [ "$size" -gt "$most" ]; then
  printf t
  rm -f -- "$out"
else
  printf 'f%s' "$out"
fi
exit "$status"
