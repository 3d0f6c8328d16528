# shellcheck shell=bash
# The work of tools/testacc: plans, which name tests, become jobs in a queue, a directory for each kind of jobs, that sandboxes take from.

# split_plan PLAN: splits packages of many tests, so that sandboxes that share the work end at the same time, and a job in its time.
split_plan() {
	local file
	for file in "$1"/*; do
		[[ -e $file ]] || continue
		(($(wc -l <"$file") <= 5)) || { split --lines=4 --numeric-suffixes "$file" "$file," && rm "$file"; }
	done
}

# kind PACKAGE says what its tests may run beside. Tests of machines and tests of services share nothing but the processors. What
# changes and compares all of a machine's network, what looks at every millisecond, and what stops what all others need, has a
# sandbox of its own meanwhile.
kind() {
	case ${1%,*} in
	*bridge | *+netinterface | *+resolver | *+route) echo networks ;;
	*+vip | *internal+hypervisor | *datasources+hypervisor) echo alone ;;
	*+dhcp* | *+image | *+network | *+node | *+storagepool | *+volume) echo machines ;;
	*) echo services ;;
	esac
}

# enqueue CLI=PROGRAM PLAN LOGS QUEUE adds a job for each file of a plan behind those that are in the queue. A job is a file with four
# lines: the program's name and path, the file of test names, and the log that their output is added to. The first part of every package
# comes before the second one of any: a run that ends early has seen something of each.
enqueue() {
	local file name part before
	before=$(($(find "$4" -type f | wc -l) + 1000))
	for file in "$2"/*; do
		[[ -e $file ]] || continue
		name=$(basename "$file") part=00
		[[ $name != *,* ]] || part=${name##*,}
		mkdir -p "$4/$(kind "$name")"
		printf '%s\n' "${1%%=*}" "${1#*=}" "$file" "$3/$name" >"$4/$(kind "$name")/$before-$part-${1%%=*}-$name"
	done
}

# take_job QUEUE KIND…: removes a job of the first kind that has one from a queue, and prints its lines. Whoever renames it has it.
take_job() {
	local job kind taken
	taken=$(mktemp -d "$1/taken.XXXXXX")
	for kind in "${@:2}"; do
		for job in "$1/$kind"/*; do
			mv -T "$job" "$taken/job" 2>/dev/null && cat "$taken/job" && return
		done
	done
	return 1
}

# drop_jobs QUEUE: names the tests of the jobs that nobody began, and takes them from their plans.
drop_jobs() {
	local job lines
	for job in "$1"/*/[0-9]*; do
		[[ -e $job ]] || continue
		mapfile -t lines <"$job"
		echo "not begun within ${ACC_MINUTES:-?} minutes with ${lines[0]}, $(basename "${lines[2]}"): $(paste -sd' ' "${lines[2]}")"
		rm "${lines[2]}" "$job"
	done
}
