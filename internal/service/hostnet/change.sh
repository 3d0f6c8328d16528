#!/bin/sh
# One change of a machine's network, in a directory of its own: what it writes, what it runs, and what takes it back. Until it is armed
# nothing reads that directory, and whatever the change writes is written after that, so that going back finds all of it.
#
#   files         the path of each file that the change writes or removes, one a line
#   new/N         what the file of line N (from 0 on) becomes, with its mode and owner; none where it is removed
#   do, undo      scripts: do runs when the files are written, and ends at its first failure; undo runs when they are as before
#   unit          the unit of systemd that goes back where the machine starts again in between, before any daemon reads its files
#   before/N      what the file of line N was; N.path and N.real are where it led to, and what was there, for a symbolic link
#   made          directories that were not there before
#   pid, out, status   the process group of the change, what it said, and how it ended
#   armed | going | proven   one of the three from the arming on. Who renames the first decides what becomes of the change.
#
# usage: change.sh arm|wait DIRECTORY SECONDS | save|make|run|status|prove|back|restore|boot|end DIRECTORY | earlier DIRECTORY_OF_ALL
set -u
umask 077
verb=$1 dir=$2

# each_file runs a command for each file of the change, with its path and its number in variables, until one fails.
each_file() { # COMMAND
	number=0
	while IFS= read -r path; do
		"$1" || return
		number=$((number + 1))
	done <"$dir/files"
}

# where prints what is written for a path: where it leads, if it is a symbolic link.
where() { # PATH
	if [ -L "$1" ]; then readlink -f -- "$1"; else printf '%s\n' "$1"; fi
}

# beside is the name of a new file until it is whole; a change that was killed leaves one, and going back removes it.
beside() { # PATH
	printf '%s/.virtcluster-%s-%s\n' "$(dirname -- "$1")" "${dir##*/}" "$number"
}

# save_file keeps what the file is now. Where it is a symbolic link, the unit waits for where that leads.
save_file() {
	if [ -e "$path" ] || [ -L "$path" ]; then cp -a -- "$path" "$dir/before/$number" || return; fi
	if [ -L "$path" ] && real=$(where "$path") && [ ! -d "$real" ]; then
		if [ -e "$real" ]; then cp -a -- "$real" "$dir/before/$number.real" || return; fi
		printf '%s\n' "$real" >"$dir/before/$number.path" || return
		printf '[Unit]\nRequiresMountsFor="%s"\n' "$(printf '%s\n' "$real" | sed 's/[\\"]/\\&/g; s/%/%%/g')" >>"$dir/unit"
	fi
}

# put_file writes the file, or removes it. The SELinux label of what was there stays, a new file gets what the policy says.
put_file() {
	if [ ! -e "$dir/new/$number" ]; then
		rm -f -- "$path" || return
		sync -- "$(dirname -- "$path")" 2>/dev/null
		return 0
	fi
	real=$(where "$path") || { echo "$path is a symbolic link that leads nowhere" >&2 && return 1; }
	[ ! -e "$real" ] || [ -f "$real" ] || { echo "$real is no regular file" >&2 && return 1; }
	parent=$(dirname -- "$real")
	missing=$parent
	while [ ! -d "$missing" ]; do
		printf '%s\n' "$missing" >>"$dir/made"
		missing=$(dirname -- "$missing")
	done
	(umask 022 && mkdir -p -- "$parent") || return
	temp=$(beside "$real") label=restorecon
	cp -p -- "$dir/new/$number" "$temp" || return
	if command -v selinuxenabled >/dev/null 2>&1 && selinuxenabled && [ -e "$real" ] && chcon --reference="$real" -- "$temp"; then label=kept; fi
	sync -- "$temp" && mv -fT -- "$temp" "$real" && sync -- "$parent" || return
	# failpoint change/moved
	[ "$label" = kept ] || ! command -v restorecon >/dev/null 2>&1 || restorecon -- "$real" || :
}

# restore_file has the file be what it was. What cannot be restored keeps nothing else from it.
restore_file() {
	saved=$dir/before/$number real=$path
	if [ -e "$saved.path" ]; then real=$(cat "$saved.path"); fi
	rm -f -- "$(beside "$real")"
	if [ -e "$saved" ] || [ -L "$saved" ]; then
		mkdir -p -- "$(dirname -- "$path")" && cp -a --remove-destination -- "$saved" "$path"
	else
		rm -f -- "$path"
	fi
	if [ -e "$saved.real" ]; then
		mkdir -p -- "$(dirname -- "$real")" && cp -a --remove-destination -- "$saved.real" "$real"
	elif [ -e "$saved.path" ]; then
		rm -f -- "$real"
	fi
	return 0
}

# stop_making ends the change where it still runs. What is ended finishes the call to the kernel that it is in.
stop_making() {
	[ -s "$dir/pid" ] && [ ! -s "$dir/status" ] || return 0
	read -r group <"$dir/pid"
	kill -9 -- "-$group"
	tries=0
	while kill -0 -- "-$group" 2>/dev/null && [ $tries -lt 20 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
}

# restore goes back; on the way up, of which WHEN says "boot", nothing is configured yet that would need the undo. What netplan renders
# then it has rendered from the files of the change: that is before any unit runs.
restore() { # [WHEN]
	stop_making
	each_file restore_file
	# failpoint change/restored
	if [ -e "$dir/made" ]; then
		while IFS= read -r made; do rmdir -- "$made" 2>/dev/null; done <"$dir/made"
	fi
	if [ "${1:-}" != boot ]; then
		sh "$dir/undo"
		# failpoint change/undone
	elif grep -q '^/etc/netplan/' "$dir/files"; then
		netplan generate
	fi
	sync
}

systemd=/etc/systemd/system

unit() { echo "virtcluster-rollback-${dir##*/}.service"; }

remove_unit() { rm -f "$systemd/$(unit)" "$systemd/sysinit.target.wants/$(unit)"; }

# leave_directory removes the directory of a record, and those above it, where nothing is in them any more.
leave_directory() {
	case $path in
	/run/virtcluster/* | /var/lib/virtcluster/*) rmdir -p -- "$(dirname -- "$path")" 2>/dev/null || : ;;
	esac
}

# end removes what is left of a change that is over.
end() {
	remove_unit
	[ ! -e "$dir/files" ] || each_file leave_directory # who goes back and who waits for it both end it
	rm -rf "$dir"
	rmdir -p -- "${dir%/*}" 2>/dev/null || :
}

write_unit() {
	cat >"$dir/unit" <<-END
		[Unit]
		Description=Put back a network configuration, as its change was not proven to work
		DefaultDependencies=no
		RequiresMountsFor=$dir
		After=systemd-remount-fs.service
		Wants=network-pre.target
		Before=sysinit.target network-pre.target systemd-networkd.service NetworkManager.service networking.service

		[Service]
		Type=oneshot
		ExecStart=/bin/sh $dir/change.sh boot $dir
	END
}

# save keeps all that the change replaces.
save() { mkdir -p "$dir/before" && write_unit && each_file save_file; }

# arm starts what goes back, when all is saved: a process of its own that outlives the connection, and a unit that does it
# where the machine starts again in between.
arm() { # SECONDS
	save || return
	# failpoint change/saved
	: >"$dir/armed" || return
	# failpoint change/armed
	if [ -d /run/systemd/system ]; then
		cp "$dir/unit" "$systemd/$(unit)" && chmod 644 "$systemd/$(unit)" &&
			(umask 022 && mkdir -p "$systemd/sysinit.target.wants") &&
			ln -sfn "../$(unit)" "$systemd/sysinit.target.wants/$(unit)" && sync || return
		if systemd-run --quiet --collect --unit="wait-$(unit)" /bin/sh "$dir/change.sh" wait "$dir" "$1" </dev/null >/dev/null 2>&1; then return 0; fi
	fi
	setsid sh "$dir/change.sh" wait "$dir" "$1" </dev/null >/dev/null 2>&1 &
}

# make runs the change in a session of its own, by which it is ended when it takes too long, and leaves its status behind, as the connection
# may not live to tell. One that begins so late that the machine went back before does nothing.
make() {
	setsid --wait sh "$dir/change.sh" run "$dir" </dev/null >"$dir/out" 2>&1
	status=$?
	cat "$dir/out" >&2
	# failpoint change/made
	echo "$status" >"$dir/status"
	return "$status"
}

# go_back goes back unless that was decided otherwise before. What began goes on whatever becomes of the connection.
go_back() {
	if mv "$dir/armed" "$dir/going" 2>/dev/null; then return_now; fi
}

return_now() { setsid --wait sh "$dir/change.sh" restore "$dir" </dev/null >/dev/null 2>&1; }

# await_return waits for who goes back already, for half a minute at most.
await_return() {
	tries=0
	while [ -e "$dir/going" ]; do
		[ $tries -lt 300 ] || return
		tries=$((tries + 1))
		sleep 0.1
	done
}

case $verb in
save) save ;;
arm) arm "$3" ;;
make)
	# The directory is gone where the machine went back: then there is nothing to make, and nowhere to say so.
	[ -e "$dir/armed" ] || { echo "the machine went back before" >&2 && exit 1; }
	make
	;;
run)
	echo $$ >"$dir/pid"
	[ -e "$dir/armed" ] || { echo "the machine went back before" >&2 && exit 1; }
	each_file put_file && exec sh -eu "$dir/do"
	;;
status)
	until [ -s "$dir/status" ]; do
		[ -e "$dir/armed" ] || { echo "the machine went back before" >&2 && exit 1; }
		sleep 0.2
	done
	read -r status <"$dir/status"
	[ "$status" = 0 ] || cat "$dir/out" >&2
	exit "$status"
	;;
prove) mv "$dir/armed" "$dir/proven" 2>/dev/null || [ -e "$dir/proven" ] || { echo "the machine went back before" >&2 && exit 1; } ;;
back)
	go_back
	# Only who holds the lock removes the directory of a change that is proven: where it is gone, the machine went back.
	if [ -e "$dir/proven" ]; then
		echo proven
	elif await_return; then
		end
		echo back
	else
		echo going
	fi
	;;
restore)
	restore
	end
	;;
wait)
	left=$3
	while [ "$left" -gt 0 ] && [ -e "$dir/armed" ]; do
		sleep 1
		left=$((left - 1))
	done
	go_back
	;;
boot)
	if [ -e "$dir/armed" ] || [ -e "$dir/going" ]; then
		restore boot
		end
	fi
	remove_unit
	;;
end) end ;;
earlier)
	# What changes before left whose provider did not come to their end. Of a proven one nothing stays but what it made.
	for dir in "$2"/*; do
		[ -d "$dir" ] || continue
		go_back
		await_return || return_now
		end
	done
	;;
esac
