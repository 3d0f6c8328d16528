# shellcheck shell=sh
# Has the kernel read a table of nftables in a network namespace where it has no effect. Argument: the file with the table.
command -v nft >/dev/null || { echo "there is no nft: name nftables among the services of the virtcluster_service_node, or install it" >&2; exit 1; }
exec unshare --net nft --file "$1"
