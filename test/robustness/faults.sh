#!/bin/sh
# faults.sh begin|end KIND [VALUE…]: what happens to a service node. Everything that begins ends, and nothing is left of it.
set -eu
verb=$1 kind=$2
shift 2
# shellcheck disable=SC2086 # they are several
cut() { pids=$(ps -eo pid,args | sed -n 's/^ *\([0-9]*\) sshd: root.*/\1/p') && [ -z "$pids" ] || kill -9 $pids 2>/dev/null || :; }
wrap() { # PROGRAM SCRIPT: what answers instead of a program to those who come by SSH
	printf '%s\n' '#!/bin/sh' "$2" >"/usr/local/sbin/$1.new"
	chmod 755 "/usr/local/sbin/$1.new"
	mv "/usr/local/sbin/$1.new" "/usr/local/sbin/$1"
}
unwrap() { rm -f "/usr/local/sbin/$1"; }
real() { PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v "$1"; }
case $verb-$kind in
begin-cut) cut ;;
begin-restart) systemctl try-restart "$1" || : ;;
begin-systemd) systemctl daemon-reexec ;;
begin-input)
	# The connection breaks in the middle of what a command is told, once in so many times.
	wrap head "[ \"\$1\" = -c ] || exec $(real head) \"\$@\"
n=\$(cat /run/robustness-head 2>/dev/null || echo 0); n=\$((n + 1)); echo \$n >/run/robustness-head
[ \$((n % $1)) = 0 ] || exec $(real head) \"\$@\"
$(real head) -c \$((\$2 / $2)) ; kill -9 \$(ps -eo pid,args | sed -n 's/^ *\\([0-9]*\\) sshd: root.*/\\1/p')"
	;;
end-input) unwrap head && rm -f /run/robustness-head ;;
begin-garbage) wrap "$1" "printf '\\000\\377{]garbage %s\\n' \"\$*\"" ;;
begin-much) wrap "$1" "$(real head) -c 80000000 /dev/zero | tr '\\000' x" ;;
begin-slow) wrap "$1" "sleep 4; exec $(real "$1") \"\$@\"" ;;
begin-sparse) wrap tar "base64 -d <<X | gzip -d
$1
X" ;;
end-sparse) unwrap tar ;;
begin-fails) wrap "$1" "echo 'it failed for no reason' >&2; exit 1" ;;
end-garbage | end-much | end-slow | end-fails) unwrap "$1" ;;
begin-clock) wrap date "exec $(real date) --date='$1' \"\$@\"" ;;
end-clock) unwrap date ;;
begin-readonly) mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 9 ;;
end-readonly) umount -l "$1" || : ;;
begin-full)
	mkdir -p "$1" /run/robustness-full && cp -a "$1/." /run/robustness-full/
	mount -t tmpfs -o mode=0755,size=2m tmpfs "$1"
	cp -a /run/robustness-full/. "$1/"
	dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null || :
	;;
end-full)
	rm -f "$1/fill" && rm -rf /run/robustness-full && mkdir -p /run/robustness-full
	cp -a "$1/." /run/robustness-full/
	umount -l "$1" || :
	find "$1" -mindepth 1 -delete && cp -a /run/robustness-full/. "$1/" && rm -rf /run/robustness-full
	;;
end-*) ;;
*) echo "faults.sh cannot $verb $kind" >&2 && exit 2 ;;
esac
