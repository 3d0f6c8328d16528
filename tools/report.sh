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
	grep -A2 '^--- SKIP' "$1" | sed 's/^/  /' || true
	echo "$2: $skipped skipped"
	echo "$passed passed, $((failed + broken)) failed"
}

# What takes longest is where a run is made shorter.
report_slowest() { # LOG: prints the twelve slowest tests in one line
	sed -n 's/^--- PASS: \(Test[^ ]*\) (\(.*\)s)$/\2 \1/p' "$1" | sort -rn | head -n 12 | awk '{ printf "%s%s %.0f s", NR == 1 ? "slowest: " : ", ", $2, $1 } END { if (NR) print "" }'
}
