# shellcheck shell=sh
# look PATH: prints the machine's system and processor, and the SHA-256 of the file where there is one.
# collect DIRECTORY [UNITS]: removes the provider's programs there that no unit in UNITS names, and the directory with the last one.
set -u
case $1 in
look)
	uname -sm
	[ ! -f "$2" ] || sha256sum -- "$2" | cut -d ' ' -f 1
	;;
collect)
	for program in "$2"/terraform-provider-virtcluster-*; do
		[ -f "$program" ] || continue
		grep -qsF -- "$program" "${3:-/etc/systemd/system}"/*.service || rm -f -- "$program"
	done
	rmdir -- "$2" 2>/dev/null || :
	;;
esac
