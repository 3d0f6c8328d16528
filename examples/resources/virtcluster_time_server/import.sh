# The id is that of the service node, with #time behind it.
terraform import virtcluster_time_server.first 'ssh://root@10.0.0.100#time'
