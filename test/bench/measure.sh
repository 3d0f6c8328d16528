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

# row WHAT MEASURED GOAL [BESIDE]: a row of the table, on the terminal and for the documentation (BENCH_TABLE).
row() {
	printf '%-62s %10s   goal %s%s\n' "$1" "$2" "$3" "${4:+   ($4)}"
	if [[ -n ${BENCH_TABLE:-} ]]; then
		# shellcheck disable=SC2001 # a substitution of the shell has no such pattern
		printf '| %s | %s | %s |\n' "$(sed 's/^ \+/… /' <<<"$1")" "$2${4:+ ($4)}" "$3" >>"$BENCH_TABLE"
	fi
}

# figure WHAT NAME GOAL: a row of medians in seconds.
figure() { row "$1" "$(printf '%.2f s' "$(median "$2")")" "$3"; }

# ratio WHAT NAME BASE GOAL: a row of medians compared.
ratio() {
	row "$1" "$(awk -v a="$(median "$2")" -v b="$(median "$3")" 'BEGIN { printf "%.2f x", a / b }')" "$4" "$(printf '%.2f s against %.2f s' "$(median "$2")" "$(median "$3")")"
}

# peak prints the most memory in MiB that the provider below a process has had resident, until that process ends.
peak() {
	local most=0 kib pid
	while kill -0 "$1" 2>/dev/null; do
		for pid in $(pgrep -P "$1" -f terraform-provider-virtcluster); do
			kib=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) || continue
			((${kib:-0} > most)) && most=$kib
		done
		sleep 0.05
	done
	echo $((most / 1024))
}

# answers FILE tells how many of the packets of a ping were answered: "365 of 365". The last ones, which may be on their way still
# when the ping is stopped, are not asked for.
answers() {
	awk -v last=10 '/icmp_seq=/ && /time=/ { match($0, /icmp_seq=[0-9]+/); seen[substr($0, RSTART + 9, RLENGTH - 9)] = 1 }
		/packets transmitted/ { asked = $1 - last }
		END { for (n = 1; n <= asked; n++) got += seen[n]; print got + 0 " of " asked }' "$1"
}
