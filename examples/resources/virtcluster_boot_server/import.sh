# The id is that of the service node, with #boot behind it.
terraform import virtcluster_boot_server.first 'ssh://root@10.0.0.100#boot'
