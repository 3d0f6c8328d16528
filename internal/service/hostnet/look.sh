# shellcheck shell=sh
# Prints the machine's network: three lines of JSON, which are its devices with their addresses and the routes of both families, a line
# "ssh WORDS" with what sshd says of the connection, and a line "neighbours JSON" with those that are written down for good.
ip -json -details address show && echo && ip -json -4 route show table main && echo && ip -json -6 route show table main || exit
echo "ssh ${SSH_CONNECTION:-}"
echo "neighbours $(ip -json neigh show nud permanent 2>/dev/null | tr -d '\n')"
