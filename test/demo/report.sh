# Sourced by stages: what the demo tells while it runs, and the table at its end.

rows=()
failed=0
spent=()

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

# stage TITLE COMMAND… runs one part and remembers how long it took. What fails here ends the demo.
stage() {
	local title=$1 start=$EPOCHREALTIME status=0
	shift
	say "$title"
	"$@" || status=$?
	spent+=("$(seconds "$start")|$title")
	printf '== %s s\n' "$(seconds "$start")"
	((status == 0)) && return
	table
	times
	say "failed: $title (status $status)"
	exit 1
}

seconds() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }

# check WHERE WHAT EXPECTED COMMAND… puts a row into the table: the command's output must be as expected.
check() {
	local where=$1 what=$2 expected=$3 got verdict=ok
	shift 3
	got=$("$@" 2>&1) || true
	# Unquoted on purpose: expectations are patterns.
	# shellcheck disable=SC2053
	[[ $got == $expected ]] || { verdict=FAILED && failed=$((failed + 1)) && got="got ${got:-nothing}"; }
	[[ $verdict == FAILED ]] && got="${got//$'\n'/ }, expected $expected"
	got=${got//$'\n'/ }
	# A plan matches by a pattern; a row needs no more of it than its beginning.
	[[ $verdict == FAILED ]] || got=${got:0:70}
	rows+=("$verdict|$where|$what|$got")
	printf '%-6s %-10s %-50s %s\n' "$verdict" "$where" "$what" "$got"
}

# Seconds that anything is waited for: on a computer that does other things, emulated machines take their time. What is measured has
# limits of its own.
patience=600

# until_done COMMAND… tries until it succeeds, and prints what it said last.
until_done() {
	local deadline=$((SECONDS + patience)) said
	until said=$("$@" 2>&1); do
		((SECONDS < deadline)) || { echo "waited $patience s in vain for $*: $said" && return 1; }
		sleep 0.5
	done
	[[ -z $said ]] || echo "$said"
}

table() {
	say "what was checked"
	{
		printf 'RESULT|FROM|WHAT|ANSWER\n'
		printf '%s\n' "${rows[@]+"${rows[@]}"}"
	} | column -t -s '|'
}

times() {
	say "how long it took, in seconds"
	printf '%s\n' "${spent[@]}" | column -t -s '|'
}

finish() {
	echo
	echo "$((${#rows[@]} - failed)) passed, $failed failed"
	((failed == 0))
}
