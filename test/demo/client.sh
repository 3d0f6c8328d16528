# shellcheck shell=bash
# Sourced by stages: a client on the LAN that goes on asking while machines and services stop, and what it counted.

# client LOG ARGUMENTS… has curl ask ten times a second until LOG.stop is there, a new connection each time, and adds a line for each
# request to LOG: when it began, in milliseconds, and curl's status.
client() {
	local log=$1
	rm -f "$log.stop"
	: >"$log"
	# shellcheck disable=SC2016 # for the shell that runs it
	lan bash -c '
		log=$1
		shift
		while [[ ! -e $log.stop ]]; do
			{ began=$(date +%s%3N) status=0
			curl -sf -o /dev/null "$@" || status=$?
			echo "$began $status" >>"$log"; } &
			sleep 0.1
		done
		wait' client "$@" &
	client=$!
}

# end_client LOG returns when each request that it began has ended.
end_client() {
	touch "$1.stop"
	wait "$client"
}

# goes_on LOG SINCE says whether twenty requests in a row, of those that began after SINCE, were answered.
goes_on() {
	sort -n "$1" | awk -v since="$2" '$1 > since { row = $2 == 0 ? row + 1 : 0 } row == 20 { print "20 answers in a row"; found = 1; exit } END { exit !found }'
}

# failures LOG says how many requests failed, of how many, and over how long a time.
failures() {
	sort -n "$1" | awk '{ all++ } $2 != 0 { failed++; last = $1; if (!first) first = $1 }
		END { printf "%d of %d failed", failed, all; if (failed) printf ", within %.1f s", (last - first) / 1000; print "" }'
}

# longest_silence LOG is the longest time between two requests that were answered: for so long nobody was served. A single request
# that a busy computer was too slow for does not count.
longest_silence() {
	sort -n "$1" | awk '$2 == 0 { if (last && $1 - last > longest) longest = $1 - last; last = $1 } END { printf "%.1f s\n", longest / 1000 }'
}
