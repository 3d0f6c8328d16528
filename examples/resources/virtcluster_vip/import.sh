# The members' names, each with = and the id of its service node, separated by commas, then # and the VIP's name. Members
# without a name get the one of their machine.
terraform import virtcluster_vip.api 'gw-1=ssh://root@10.0.0.100?host_key=2fZq0hV7cWb3Kx9_,gw-2=ssh://root@10.0.0.101?host_key=z8KpTn4m-Yd1Le6u#okd-api'
