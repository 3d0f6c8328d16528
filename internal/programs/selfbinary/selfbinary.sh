# shellcheck shell=sh
# What is asked of a service node for the provider's program, and done to it.
#
# usage: selfbinary.sh platform                      prints the machine's system and processor
#        selfbinary.sh sum PATH                      prints the SHA-256 of the program there, nothing where there is none
#        selfbinary.sh collect DIRECTORY [UNITS]     removes the programs there that no unit in UNITS names, and the directory with the last one
set -u
case $1 in
platform) uname -sm ;;
sum)
	[ ! -x "$2" ] || sha256sum -- "$2" | cut -d ' ' -f 1
	;;
collect)
	for program in "$2"/terraform-provider-virtcluster-*; do
		[ -f "$program" ] || continue
		grep -qsF -- "$program" "${3:-/etc/systemd/system}"/*.service || rm -f -- "$program"
	done
	rmdir -- "$2" 2>/dev/null || :
	;;
esac
