# The id is where OVN's northbound database is, with the name of the network behind it.
terraform import virtcluster_ovn_network.nodes 'ssh://root@10.0.0.100#network/nodes'
