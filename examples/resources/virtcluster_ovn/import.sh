# The id is the endpoint of the machine with the databases.
terraform import virtcluster_ovn.lab 'ssh://root@10.0.0.100'
