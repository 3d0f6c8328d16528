#!/bin/sh
# Runs a registry from its directory $1, as systemd's unit does. A mirror does not start while the registry that it mirrors does not answer:
# it serves what it has kept, by alone.yml, until that one does, and ends then, so that systemd starts it as a mirror.
#
# usage: MIRROR_OF=URL serve.sh DIRECTORY [SECONDS]   SECONDS between two questions, 15 unless told
set -u

answers() { curl --silent --output /dev/null --max-time 5 "$MIRROR_OF/v2/"; }

if [ -z "$MIRROR_OF" ] || ! command -v curl >/dev/null || answers; then
	exec docker-registry serve "$1/config.yml"
fi
echo "$MIRROR_OF does not answer: serving what was kept of it" >&2
(
	until sleep "${2:-15}" && answers; do :; done
	echo "$MIRROR_OF answers again" >&2
	kill "$$" # which is the registry by now
) &
exec docker-registry serve "$1/alone.yml"
