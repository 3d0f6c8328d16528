# shellcheck shell=sh
# Prints what there is to know before a boot server is put on a machine: "address CIDR" for each of its addresses, "interface NAME" for each of its
# interfaces, "http ADDRESS:PORT USERS" and "tftp …" for who else than the unit $1 listens at the port $2 and at that of TFTP, as ss tells it, and
# "unreadable FILE" for the first of the files $3… that cannot be read.
set -u
main=$(systemctl show --property=MainPID --value -- "$1") || exit 1
ip -o -4 address show | awk '{ print "address", $4 }'
ip -o link show | awk -F': ' '{ sub("@.*", "", $2); print "interface", $2 }'
ss -Hltnp "sport = :$2" | grep -v "pid=${main:-0}," | awk '{ print "http", $4, $NF }'
ss -Hlunp 'sport = :69' | grep -v "pid=${main:-0}," | awk '{ print "tftp", $4, $NF }'
shift 2
for file; do
	if [ ! -f "$file" ] || [ ! -r "$file" ]; then echo "unreadable $file" && exit 0; fi
done
