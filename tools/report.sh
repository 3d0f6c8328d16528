# shellcheck shell=bash
# Reading the output of `go test -v`: a line per package, everything about what failed, and the count of tests.

report_packages() { # LOG: prints the output of failed tests and the line of each package
	grep -E '^(ok|FAIL|panic:)[[:space:]]' "$1" || true
	# From a failed test's start to its verdict: the messages stand between the two, and so does what the framework logs.
	grep -qE '^(--- FAIL|FAIL|panic:)' "$1" || return 0
	awk '
		/^=== RUN / { if ($3 !~ /\//) { kept = ""; name = $3 } }
		!/ sdk\.proto: Response contains / { kept = kept $0 "\n" }
		/^--- FAIL/ { printf "%s", kept; kept = "" }
		/^--- (PASS|SKIP)/ { kept = "" }
		/^(FAIL|panic:)/ { printf "%s", kept; kept = "" }
	' "$1"
}

# Counts top-level tests. A package that did not compile, or died, has a FAIL line and no failed test: it counts as one.
report_count() { # LOG WHAT
	local passed failed skipped broken
	passed=$(grep -c '^--- PASS' "$1" || true)
	failed=$(grep -c '^--- FAIL' "$1" || true)
	broken=$(grep -cE '^(FAIL[[:space:]].*\[(build|setup) failed\]|panic: )' "$1" || true)
	skipped=$(grep -c '^--- SKIP' "$1" || true)
	# Skipped tests are named: a check that did not run is not a check that passed.
	grep -B2 '^--- SKIP' "$1" | sed 's/^/  /' || true
	echo "$2: $skipped skipped"
	echo "$passed passed, $((failed + broken)) failed"
}

# What takes longest is where a run is made shorter.
report_slowest() { # LOG: prints the twelve slowest tests in one line
	# All of the list is read: a reader that leaves early ends the one who writes, and with it whoever runs this with pipefail.
	sed -n 's/^--- PASS: \(Test[^ ]*\) (\(.*\)s)$/\2 \1/p' "$1" | sort -rn | awk 'NR <= 12 { printf "%s%s %.0f s", NR == 1 ? "slowest: " : ", ", $2, $1 } END { if (NR) print "" }'
}

# verdict LOG TEST: the last verdict of a test that ran once or twice, or LOST: it never ended, or did not run.
verdict() {
	local last
	last=$(sed -n "s/^--- \(PASS\|FAIL\|SKIP\): $2 .*/\1/p" "$1" 2>/dev/null | tail -n 1)
	echo "${last:-LOST}"
}

# plan_failed PLAN LOGS AGAIN: makes a plan of the tests that failed. A package that died is not tried again: what ended it
# is a fault of its own.
plan_failed() {
	local file name test
	mkdir "$3"
	for file in "$1"/*; do
		[[ -e $file ]] || continue
		name=$(basename "$file")
		! grep -qs '^panic: ' "$2/$name" || continue
		while read -r test; do
			[[ $(verdict "$2/$name" "$test") != FAIL ]] || echo "$test" >>"$3/$name"
		done <"$file"
	done
}

# report_plan PLAN LOGS WHAT: counts the planned tests by their last verdicts, names those that passed at the second try
# only, were skipped or were lost, and fails unless all passed or were skipped.
report_plan() {
	local file name test passed=0 failed=0 skipped=0
	for file in "$1"/*; do
		[[ -e $file ]] || continue
		name=$(basename "$file")
		while read -r test; do
			case $(verdict "$2/$name" "$test") in
			PASS)
				passed=$((passed + 1))
				! grep -q "^--- FAIL: $test " "$2/$name" || echo "passed at the second try: $test"
				;;
			SKIP)
				skipped=$((skipped + 1))
				grep -B2 "^--- SKIP: $test " "$2/$name" | sed 's/^/  /'
				;;
			FAIL) failed=$((failed + 1)) && echo "failed: $test" ;;
			LOST) failed=$((failed + 1)) && echo "did not end: $test" ;;
			esac
		done <"$file"
	done
	echo "$3: $skipped skipped"
	echo "$passed passed, $failed failed"
	((failed == 0))
}
