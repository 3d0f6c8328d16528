# shellcheck shell=sh
# Makes the directory in which start.sh runs a command, and prints its path.
base=$(mktemp -d /run/virtcluster-run.XXXXXXXX) && mkfifo "$base/in" && : >"$base/lease" && : >"$base/out" && echo "$base"
