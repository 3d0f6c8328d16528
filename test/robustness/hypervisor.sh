#!/bin/bash
# hypervisor.sh add|remove KIND NAME [VALUE…]: what a person does on the hypervisor by hand. It ends with 9 where that makes no sense.
set -euo pipefail
verb=$1 kind=$2 name=$3
shift 3
quiet() { "$@" >/dev/null 2>&1; }
case $verb-$kind in
add-volume)
	quiet virsh pool-info "$1" || exit 9
	! quiet virsh vol-info "$2" --pool "$1" || exit 9
	virsh -q vol-create-as "$1" "$2" 5M --format raw
	;;
remove-volume) quiet virsh vol-delete "$2" --pool "$1" || rm -f "/var/lib/libvirt/$1/$2" ;;
add-domain)
	quiet virsh net-info "$1" || exit 9
	virsh -q net-update "$1" add ip-dhcp-host "<host mac='$3' name='$name' ip='10.63.${1#n}.$2'/>" --live --config
	virsh -q define /dev/stdin <<-XML
		<domain type="qemu"><name>$name</name><memory unit="MiB">32</memory><vcpu>1</vcpu><os><type arch="x86_64" machine="q35">hvm</type></os>
		<devices><interface type="network"><source network="$1"/><mac address="$3"/></interface></devices></domain>
	XML
	;;
remove-domain)
	quiet virsh undefine "$name" || true
	quiet virsh net-update "$1" delete ip-dhcp-host "<host mac='$3' name='$name' ip='10.63.${1#n}.$2'/>" --live --config || true
	;;
add-undefine) virsh -q undefine "$1" --nvram || exit 9 ;;
add-delete-volume)
	! compgen -G "/var/lib/libvirt/$1.vcsnap-*" >/dev/null || exit 9 # with it goes what every snapshot of it is of
	virsh -q vol-delete "${1#*/}" --pool "${1%%/*}" || exit 9
	;;
*) echo "hypervisor.sh cannot $verb $kind" >&2 && exit 2 ;;
esac
