# shellcheck shell=sh
# Runs a command whose standard input is a pipe in a directory and whose output goes to files there; the last that comes is "status", with
# its status. The agent keeps no connection that could break, so a file, "lease", stands for it: the input ends when that is gone, or was
# not touched for a minute. Arguments: the directory, as pipe.sh makes it; the command.
base=$1
shift
(
  exec 3<>"$base/in"
  : >"$base/open"
  while [ -n "$(find "$base/lease" -newermt '-60 seconds' 2>/dev/null)" ]; do sleep 0.2; done
) &
until [ -e "$base/open" ]; do sleep 0.02; done
"$@" <"$base/in" >"$base/out" 2>"$base/err"
echo $? >"$base/code" && mv "$base/code" "$base/status"
for _ in $(seq 60); do
  [ -e "$base" ] || exit 0
  sleep 1
done
rm -rf -- "$base"
