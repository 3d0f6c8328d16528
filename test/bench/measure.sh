#!/bin/bash
# Sourced by the benchmarks: times, medians and the table of figures. Each works in a directory of its own.
set -euo pipefail

# shellcheck disable=SC2034 # the benchmarks that source this use it
terraform=$(command -v terraform || command -v tofu)
export TF_IN_AUTOMATION=1 CHECKPOINT_DISABLE=1
declare -A samples=()

# timed NAME COMMAND… adds the command's wall time in seconds to NAME's samples. A command that fails ends the run.
timed() {
	local name=$1 start=$EPOCHREALTIME
	shift
	"$@" >"${TMPDIR:-/tmp}/bench.log" 2>&1 || {
		tail -40 "${TMPDIR:-/tmp}/bench.log" >&2
		echo "bench: $name failed: $*" >&2
		exit 1
	}
	samples[$name]+=" $(awk -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.3f", to - from }')"
}

median() { tr ' ' '\n' <<<"${samples[$1]}" | sed '/^$/d' | sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# figure WHAT NAME GOAL: a row of medians in seconds.
figure() { printf '%-58s %8.2f s   goal %s\n' "$1" "$(median "$2")" "$3"; }

# ratio WHAT NAME BASE GOAL: a row of medians compared.
ratio() {
	printf '%-58s %8.2f x   goal %s   (%.2f s against %.2f s)\n' "$1" \
		"$(awk -v a="$(median "$2")" -v b="$(median "$3")" 'BEGIN { print a / b }')" "$4" "$(median "$2")" "$(median "$3")"
}
