# shellcheck shell=sh
# Prints what there is to know before a boot server is put on a machine: "address CIDR" for each of its addresses, "http ADDRESS:PORT USERS" and
# "tftp …" for who else than the unit $1 listens at the port $2 and at that of TFTP, as ss tells it, and "unreadable FILE" for the first of the
# files $4… in the directory $3 that cannot be read; "" is not looked at.
set -u
main=$(systemctl show --property=MainPID --value -- "$1") || exit 1
ip -o -4 address show | awk '{ print "address", $4 }'
ss -Hltnp "sport = :$2" | grep -v "pid=${main:-0}," | awk '{ print "http", $4, $NF }'
ss -Hlunp 'sport = :69' | grep -v "pid=${main:-0}," | awk '{ print "tftp", $4, $NF }'
directory=$3
shift 3
[ -n "$directory" ] || exit 0
for file; do
	if [ ! -f "$directory/$file" ] || [ ! -r "$directory/$file" ]; then echo "unreadable $directory/$file" && exit 0; fi
done
