# shellcheck shell=bash
# What every script of the sandbox shares: where things are kept, how progress is told, how builders take turns.

# shellcheck disable=SC2034 # used by those who source this
SANDBOX_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034
REPOSITORY=$(cd "$SANDBOX_DIR/../.." && pwd)
CACHE=${VIRTCLUSTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/terraform-provider-virtcluster}

# Progress goes to standard error, so that COMMAND's output stays its own.
say() { printf 'sandbox: %s\n' "$*" >&2; }
fail() {
	printf 'sandbox: %s\n' "$*" >&2
	exit 1
}

# A key over the contents of files: what was built from other contents has another name.
recipe_key() { cat -- "$@" | sha256sum | cut -c1-16; }

# Builders of one thing take turns; the second one then finds it built.
with_lock() { # NAME COMMAND…
	local name=$1
	shift
	mkdir -p "$CACHE/locks"
	(
		if ! flock --nonblock 8; then
			say "waiting for another run to finish building $name"
			flock 8
		fi
		"$@" 8>&-
	) 8>"$CACHE/locks/$name"
}

# Waits for something that takes a moment, asking ten times a second.
wait_for() { # SECONDS WHAT COMMAND…
	local deadline=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		((SECONDS < deadline)) || fail "cannot wait longer for $what"
		sleep 0.1
	done
}
