# The id is that of the service node, and the inside address behind a #.
terraform import virtcluster_floating_address.bastion 'ssh://root@10.0.0.100#10.0.0.10'
