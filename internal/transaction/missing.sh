# shellcheck shell=sh
# Prints what keeps a daemon from being started at all: "missing" or "masked". Arguments: its program; its unit, or "".
if ! command -v "$1" >/dev/null 2>&1; then
	echo missing
elif [ -n "$2" ] && [ "$(systemctl show --property=LoadState --value "$2")" = masked ]; then
	echo masked
fi
