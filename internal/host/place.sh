# shellcheck shell=sh
# Functions for scripts that replace files.

# lead sets file to where the path $1 leads.
lead() {
	file=$1
	[ ! -L "$1" ] || file=$(readlink -f -- "$1") || { echo "$1 is a symbolic link that leads nowhere" >&2; exit 1; }
	[ ! -e "$file" ] || [ -f "$file" ] || { echo "$file is no regular file" >&2; exit 1; }
}

selinux='' lists=''
! command -v selinuxenabled >/dev/null 2>&1 || ! selinuxenabled || selinux=yes
! command -v getfacl >/dev/null 2>&1 || ! command -v setfacl >/dev/null 2>&1 || lists=yes

# inherit gives the new file $2 what the live file $1 has beside mode and owner: extended attributes, SELinux label, access list.
inherit() {
	cp --attributes-only --preserve=xattr -- "$1" "$2" 2>/dev/null || :
	[ -z "$selinux" ] || chcon --reference="$1" -- "$2" || :
	[ -n "$lists" ] || return 0
	list=$(getfacl --absolute-names --omit-header --skip-base -- "$1" 2>/dev/null) || :
	[ -n "$list" ] || return 0
	mode=$(stat -c %a -- "$2")
	{ printf '%s\n' "$list" | setfacl --set-file=- -- "$2" && chmod -- "$mode" "$2"; } || :
}

# place puts the new file $1 where the regular file $2 is, or nothing is. A rename does so in one step. A file that has other names (hard
# links), or that is a mount of its own, would not be the same file any more: it is written in place, after a copy of it that is put back
# where that fails.
place() {
	if { [ ! -e "$2" ] || [ "$(stat -c %h -- "$2")" = 1 ]; } && mv -fT -- "$1" "$2" 2>/dev/null; then return 0; fi
	case $(lsattr -d -- "$2" 2>/dev/null) in
	????i* | ?????a*) echo "$2 may not be changed, as its attributes say (lsattr $2): take them away by chattr -i -a $2" >&2; return 1 ;;
	esac
	cp -a -- "$2" "$2.virtcluster-old" && sync -- "$2.virtcluster-old" || return 1
	if cp --preserve=mode,ownership -- "$1" "$2"; then
		sync -- "$2"
		rm -f -- "$1" "$2.virtcluster-old"
		return 0
	fi
	[ "$(sha256sum <"$2.virtcluster-old")" = "$(sha256sum <"$2")" ] || cp -- "$2.virtcluster-old" "$2" || return 1
	rm -f -- "$2.virtcluster-old"
	return 1
}

# finish writes the rest of a file $1 that place was writing in place when the machine lost its power: what is there is the beginning of the new
# file, and nobody has changed it since. Any other one stays as it is.
finish() {
	if [ -f "$1.virtcluster-new" ] && [ -f "$1.virtcluster-old" ] && head -c "$(stat -c %s -- "$1")" -- "$1.virtcluster-new" | cmp -s - "$1"; then
		cp --preserve=mode,ownership -- "$1.virtcluster-new" "$1" && sync -- "$1" && rm -f -- "$1.virtcluster-new" "$1.virtcluster-old"
	fi
}
