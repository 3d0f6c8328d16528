#!/bin/bash
# observe-far.sh: what the clients on a further hypervisor see, in sections that begin with a line "== NAME". Where no databases of OVN run,
# nothing is in them.
section() { printf '\n== %s\n' "$1"; }
nb() { [ ! -S /run/ovn/ovnnb_db.sock ] || ovn-nbctl --timeout=10 "$@" 2>/dev/null; }
table() { nb --data=bare --format=csv --no-headings --columns="$2" list "$1"; }
section segments
table Logical_Switch name,other_config
section dhcp
table DHCP_Options cidr,options
section routers
for router in $(table Logical_Router name); do
	echo "$router,$(nb show "$router" | sed -n 's/.*networks: \["\(.*\)"\]/\1/p' | sort | paste -sd' ') $(nb lr-route-list "$router" | awk '$3 ~ /^(dst|src)-ip$/ { print $1 ">" $2 }' | sort | paste -sd' ')"
done
section balancers
table Load_Balancer name,vips
section balanced
for router in $(table Logical_Router name); do nb lr-lb-list "$router" | awk -v router="$router" '$1 ~ /-/ { print $2 "," router }' | sort -u; done
section groups
for group in $(table Port_Group name); do
	echo "$group,$(nb acl-list "$group" | sed -n 's/.*tcp\.dst == \([0-9]*\) .*allow-related.*/\1/p' | paste -sd' ')"
done
section sets
table Address_Set name,addresses
section ports
for segment in $(table Logical_Switch name); do nb lsp-list "$segment" | awk -v segment="$segment" '{ gsub(/[()]/, "", $2) } $2 ~ /^person/ { print $2 "," segment }'; done
section domains
virsh -q list --all --name | grep '^c' | while read -r domain; do
	echo "$domain,$(virsh -q dumpxml "$domain" --inactive | sed -n "s/.*<currentMemory unit='KiB'>\([0-9]*\)<.*/\1/p" | awk '{ print $1 / 1024 }')"
done
section volumes
ls /var/lib/libvirt/carried
section guests
virsh -q nwfilter-list | awk '/virtcluster/ { print $2 }'
ls /var/lib/libvirt/qemu/nvram 2>/dev/null
section follows
[ ! -S /run/openvswitch/db.sock ] || ovs-vsctl --timeout=10 --if-exists get Open_vSwitch . external_ids:ovn-remote 2>/dev/null | tr -d '"'
section engine
nb --if-exists get NB_Global . external_ids:virtcluster-underlay-mtu | tr -d '"'
section listeners
systemctl list-units --plain --no-legend 'person*.service' | awk '{ sub(/.service$/, "", $1); print $1 "," $3 }'
section rows
for table in Logical_Switch Logical_Switch_Port Logical_Router Logical_Router_Port Load_Balancer HA_Chassis_Group Port_Group Address_Set; do table $table name; done | sort
# What guests of a network are told stays where a person removes the network alone, until its state makes it again.
for table in NAT Logical_Router_Static_Route ACL; do table $table _uuid; done | wc -l
section files
files() {
	find /etc/virtcluster /var/lib/virtcluster* /usr/local/libexec /etc/systemd/system /etc/systemd/network /var/lib/ovn /etc/ovn \
		-type f ! -name '*.holder' ! -name '*.lock' ! -name '.*~lock~' ! -name '*.db' "$@" 2>/dev/null
}
{ files -exec sha256sum {} +; files -printf '%m %u:%g %p\n'; } | awk 'NF == 2 { sum[$2] = substr($1, 1, 12) } NF == 3 { print $3, $1, $2, sum[$3] }' | sort
section units
for unit in openvswitch-switch ovs-vswitchd ovsdb-server ovn-central ovn-northd ovn-ovsdb-server-nb ovn-host ovn-controller; do
	echo "$unit $(systemctl is-enabled $unit) $(systemctl is-active $unit)"
done
systemctl list-units --all --no-legend --plain 'virtcluster-bmc*' | awk '{ print $1, $3 }'
getent passwd | grep -c vc-bmc
section failed
systemctl list-units --state=failed --plain --no-legend | awk '$1 !~ /^(user|session-|systemd-ask-password)/ { print $1 }'
