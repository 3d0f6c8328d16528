# HOST#NAME: takes over what a person configured
terraform import virtcluster_interface.lan 'ssh://root@10.0.0.101#eth1'
