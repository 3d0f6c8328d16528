# The id is that of the service node, and the interface behind #dhcp/.
terraform import virtcluster_dhcp_server.provisioning 'ssh://root@10.0.0.100#dhcp/eth1'
