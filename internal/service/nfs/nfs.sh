#!/bin/sh
# What the provider asks of a machine's NFS server, and tells it. Status 1 says that it is not so, or cannot be done, and why is on standard
# error.
#
# usage: nfs.sh VERB ARGUMENT...   each verb is the function of its name
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

# exporting prints the files that export the directory $1: the provider's own too.
exporting() {
	for file in /etc/exports /etc/exports.d/*.exports; do
		[ -e "$file" ] || continue
		awk -v path="$1" '
			/^[ \t]*#/ { next }
			{ line = $0; sub(/^[ \t]+/, "", line)
			  if (substr(line, 1, 1) == "\"") { line = substr(line, 2); sub(/".*/, "", line) } else sub(/[ \t].*/, "", line)
			  gsub(/\\040/, " ", line)
			  if (line == path) found = 1 }
			END { exit !found }' "$file" && echo "$file"
	done
}

# exporters prints the files that export a directory, whoever wrote them; where none does, whether somebody exports one by hand.
exporters() {
	found=$(grep -lE '^[[:space:]]*[^#[:space:]]' /etc/exports /etc/exports.d/*.exports 2>/dev/null)
	if [ -n "$found" ]; then
		printf '%s\n' "$found"
	elif command -v exportfs >/dev/null && [ -n "$(exportfs -s 2>/dev/null)" ]; then
		echo "exports by hand"
	fi
}

# taken fails where a person's file exports one of the directories, or a person does by hand. What is live as it is staged is not asked about:
# what a person exports beside it since is in the way of no other directory.
taken() { # STAGE { FILE PATH }...
	stage=$1
	shift
	left=$#
	while [ "$left" -gt 0 ]; do # the paths to ask about come behind what is left to compare
		cmp -s -- "$stage$1" "$1" || set -- "$@" "$2"
		shift 2
		left=$((left - 2))
	done
	for path; do
		theirs=$(exporting "$path" | grep -vF -- "$ours" | head -n 1)
		[ -z "$theirs" ] || fail "$path is exported by $theirs already: take it out there, or export another directory"
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

# in_table says whether the table has a directory, for a client where one is named.
in_table() { printf '%s\n' "$table" | awk -v line="$1  ${2:+$2(}" 'index($0, line) == 1 { found = 1 } END { exit !found }'; }

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
# end what a person exports by hand, nor export what stands in a person's file and is not exported yet (-a). A directory that is gone is no
# failure: exportfs complains of it and notes it all the same, and that of an export which is made was prepared before.
activate() { # { end PATH CLIENT - | begin|keep PATH CLIENT OPTIONS }...
	[ "$#" -gt 0 ] || return 0
	command -v exportfs >/dev/null || fail "there is no exportfs: name nfs among the services of the virtcluster_service_node, or install an NFS server"
	case " $* " in
	*" begin "* | *" keep "*) systemctl is-active --quiet "$unit" || systemctl start "$unit" || fail "$unit does not start (systemctl status $unit): the machine's kernel has to serve NFS (nfsd), which that of a container may not" ;;
	esac
	before=$(table)
	changed='' unknown='' begun=''
	while [ "$#" -gt 0 ]; do
		changed=$changed$2$newline
		case $1 in
		end) # one whose name nobody knows any more is found by what is left in the table
			words=$(exportfs -u "$(client "$3"):$2" 2>&1) || case $words in
			*ould\ not\ find*) ;;
			*ailed\ to\ resolve*) unknown=$unknown$2$newline ;;
			*) fail "$words" ;;
			esac ;;
		begin)
			begun=$begun$2$newline
			words=$(exportfs -i -o "$4" "$(client "$3"):$2" 2>&1) || [ ! -e "$2" ] || fail "export $2 to $3: $words" ;;
		keep)
			begun=$begun$2$newline
			exportfs -i -o "$4" "$(client "$3"):$2" 2>/dev/null || : ;; # whose it is sees that it is not exported
		esac
		shift 4
	done
	restore || exit 1
	printf '%s' "$unknown" | while IFS= read -r path; do
		if in_table "$path" && ! printf '%s' "$begun" | grep -qxF -- "$path"; then
			fail "$path is exported still, to a host whose name is not known any more: exportfs -s says $table"
		fi
	done
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
		words=$(exportfs -i -o "${options%)}" "$(client "${rest%%(*}"):$path" 2>&1) || [ ! -e "$path" ] || fail "export $path again, which was exported before: $words"
	done
}

# check wants directories exported, and prints the table.
check() {
	[ "$#" -gt 0 ] || return 0
	systemctl is-active --quiet "$unit" || fail "$unit does not run"
	table=$(table)
	for path; do
		in_table "$path" || fail "$path is not exported: exportfs -s says $table"
	done
	printf '%s\n' "$table"
}

# ended wants directories not exported to clients.
ended() { # { PATH CLIENT }...
	table=$(table)
	while [ "$#" -gt 0 ]; do
		! in_table "$1" "$2" || fail "$1 is exported to $2 still: exportfs -s says $table"
		shift 2
	done
}

# prepare makes the directory $1 where it is missing and $2 is true, as $3, $4 and $5 say it shall be, and prints the directories that it
# made for it: a line "DEVICE:INODE PATH" for each, the innermost first. One that is there stays as it is.
prepare() { # PATH CREATE OWNER GROUP PERMISSIONS
	[ -z "$3" ] || id -u -- "$3" >/dev/null 2>&1 || [ -z "${3##[0-9]*}" ] || fail "there is no user $3"
	[ -z "$4" ] || getent group "$4" >/dev/null || [ -z "${4##[0-9]*}" ] || fail "there is no group $4"
	if [ -e "$1" ]; then
		[ -d "$1" ] || fail "$1 is no directory"
		return 0
	fi
	[ "$2" = true ] || fail "there is no $1: make it first, or set create = true"
	path=$1 missing=
	while [ ! -e "$path" ]; do
		missing=$missing$path$newline
		path=$(dirname -- "$path")
	done
	mkdir -p -- "$1" || fail "cannot make $1"
	printf '%s' "$missing" | while IFS= read -r path; do stat -c '%d:%i %n' -- "$path"; done
	give "$1" "$3" "$4" "$5"
}

# give gives a directory owner, group and permissions, where these are wanted. What is in it is left alone.
give() { # PATH OWNER GROUP PERMISSIONS
	[ -z "$2" ] || chown -- "$2" "$1" || fail "cannot give $1 to the user $2"
	[ -z "$3" ] || chgrp -- "$3" "$1" || fail "cannot give $1 to the group $3"
	[ -z "$4" ] || chmod -- "$4" "$1" || fail "cannot give $1 the permissions $4"
}

# unmake removes the directories that prepare made, as it printed them: those that are the same still, that are empty, and that no file
# and nobody by hand exports.
unmake() { # LINES
	table=
	! command -v exportfs >/dev/null || table=$(table 2>/dev/null)
	printf '%s\n' "$1" | while IFS= read -r line; do
		path=${line#* }
		if in_table "$path" || [ -n "$(exporting "$path")" ] || [ "$(stat -c '%d:%i' -- "$path" 2>/dev/null)" != "${line%% *}" ]; then return 0; fi
		rmdir -- "$path" 2>/dev/null || return 0
	done
}

# look prints owner and group of a directory, each by name and number, and its permissions; nothing where there is none. Where the server runs, the
# lines of the table follow.
look() { # PATH
	[ ! -d "$1" ] || stat -c '%U %u %G %g %a' -- "$1"
	command -v exportfs >/dev/null && systemctl is-active --quiet "$unit" || return 0
	table
}

what=${1:-}
shift
case $what in
exporters) exporters ;;
taken) taken "$@" ;;
exported) exported ;;
activate) activate "$@" ;;
check) check "$@" ;;
ended) ended "$@" ;;
prepare) prepare "$@" ;;
give) give "$@" ;;
unmake) unmake "$@" ;;
look) look "$@" ;;
*) fail "usage: nfs.sh exporters|taken|exported|activate|check|ended|prepare|give|unmake|look" ;;
esac
