#!/bin/sh
# What the provider asks of a machine's NFS server, and tells it.
set -u
unit=nfs-server.service
newline='
'

fail() {
	echo "$*" >&2
	exit 1
}

# ours are the provider's files.
ours=/etc/exports.d/virtcluster-

# taken fails where a person's file exports one of the directories, or a person does by hand.
taken() {
	for file in /etc/exports /etc/exports.d/*.exports; do
		case $file in "$ours"*) continue ;; esac
		[ -e "$file" ] || continue
		for path; do
			awk -v path="$path" '
				/^[ \t]*#/ { next }
				{ line = $0; sub(/^[ \t]+/, "", line)
				  if (substr(line, 1, 1) == "\"") { line = substr(line, 2); sub(/".*/, "", line) } else sub(/[ \t].*/, "", line)
				  gsub(/\\040/, " ", line)
				  if (line == path) found = 1 }
				END { exit !found }' "$file" && fail "$path is exported by $file already: take it out there, or export another directory"
		done
	done
	systemctl is-active --quiet "$unit" && command -v exportfs >/dev/null || return 0
	table=$(table)
	filed=$(cat "$ours"*.exports 2>/dev/null | paths)
	for path; do
		printf '%s\n' "$filed" | grep -qxF -- "$path" || ! in_table "$path" || fail "$path is exported by hand already, as exportfs -s says and no file does: end that (exportfs -u CLIENT:$path), or export another directory"
	done
	return 0
}

# paths prints the directories of our files.
paths() { sed -n 's/^"\(.*\)" .*/\1/p'; }

# exported prints the state of the server's unit, and a second line for each directory of our files that it does not export. It prints
# nothing where there are no such files.
exported() {
	set -- "$ours"*.exports
	[ -e "$1" ] || return 0
	state=$(systemctl show --property=ActiveState --value "$unit") || exit 1
	echo "$state"
	[ "$state" = active ] || return 0
	table=$(table) || exit 1
	cat "$@" | paths | while read -r path; do
		in_table "$path" || echo "$path"
	done
}

# table is what the server exports now: a line "PATH  CLIENT(OPTIONS)" for each client.
table() { exportfs -s | sed 's/\\040/ /g'; }

# in_table says whether the table has a directory.
in_table() { printf '%s\n' "$table" | awk -v path="$1  " 'index($0, path) == 1 { found = 1 } END { exit !found }'; }

# client prints how exportfs wants a client before a path: addresses of IPv6 in brackets, as they hold colons.
client() {
	case $1 in
	@* | \[*) echo "$1" ;;
	*:*/*) echo "[${1%/*}]/${1##*/}" ;;
	*:*) echo "[$1]" ;;
	*) echo "$1" ;;
	esac
}

# activate is told of one client of one directory after the other. It never has exportfs take all files for the truth (-r), which would
# end what a person exports by hand, nor export what stands in a person's file and is not exported yet (-a).
activate() { # { end PATH CLIENT - | begin PATH CLIENT OPTIONS }...
	[ "$#" -gt 0 ] || return 0
	command -v exportfs >/dev/null || fail "there is no exportfs: name nfs among the services of the virtcluster_service_node, or install an NFS server"
	case " $* " in
	*" begin "*) systemctl is-active --quiet "$unit" || systemctl start "$unit" || fail "$unit does not start (systemctl status $unit): the machine's kernel has to serve NFS (nfsd), which that of a container may not" ;;
	esac
	before=$(table)
	changed=
	while [ "$#" -gt 0 ]; do
		changed=$changed$2$newline
		case $1 in
		end) # one that is not exported, or whose name nobody knows any more, is found by what is left in the table
			words=$(exportfs -u "$(client "$3"):$2" 2>&1) || case $words in *ould\ not\ find* | *ailed\ to\ resolve*) ;; *) fail "$words" ;; esac ;;
		begin) words=$(exportfs -i -o "$4" "$(client "$3"):$2" 2>&1) || fail "export $2 to $3: $words" ;;
		esac
		shift 4
	done
	restore
}

# restore exports anew what exportfs ended besides: it takes a directory for all whose names begin with the same letters.
restore() {
	table=$(table)
	printf '%s\n' "$before" | while IFS= read -r line; do
		path=${line%%  *} rest=${line#*  }
		if [ -z "$line" ] || printf '%s' "$changed" | grep -qxF -- "$path" || printf '%s\n' "$table" | grep -qxF -- "$line"; then
			continue
		fi
		options=${rest#*(}
		words=$(exportfs -i -o "${options%)}" "$(client "${rest%%(*}"):$path" 2>&1) || fail "export $path again, which was exported before: $words"
	done
}

# check wants directories exported up to "--", and those after it not.
check() {
	[ "$#" -gt 0 ] || return 0
	[ "$1" = -- ] || systemctl is-active --quiet "$unit" || fail "$unit does not run"
	table=$(table)
	want=yes
	for path; do
		case $path,$want in
		--,*) want=no ;;
		*,yes) in_table "$path" || fail "$path is not exported: exportfs -s says $table" ;;
		*,no) ! in_table "$path" || fail "$path is exported still: exportfs -s says $table" ;;
		esac
	done
}

directory() { # PATH CREATE OWNER GROUP PERMISSIONS
	made=
	if [ ! -e "$1" ]; then
		[ "$2" = true ] || fail "there is no $1: make it first, or set create = true"
		mkdir -p -- "$1" || fail "cannot make $1"
		made=made
	fi
	[ -d "$1" ] || fail "$1 is no directory"
	[ -z "$3" ] || chown -- "$3" "$1" || fail "cannot give $1 to the user $3"
	[ -z "$4" ] || chgrp -- "$4" "$1" || fail "cannot give $1 to the group $4"
	[ -z "$5" ] || chmod -- "$5" "$1" || fail "cannot give $1 the permissions $5"
	echo "$made"
}

look() { # PATH
	[ -d "$1" ] || return 0
	stat -c '%U %u %G %g %a' -- "$1"
}

what=${1:-}
shift
case $what in
taken) taken "$@" ;;
exported) exported ;;
activate) activate "$@" ;;
check) check "$@" ;;
directory) directory "$@" ;;
unmake) rmdir -- "$1" ;;
look) look "$@" ;;
*) fail "usage: nfs.sh taken|exported|activate|check|directory|unmake|look" ;;
esac
