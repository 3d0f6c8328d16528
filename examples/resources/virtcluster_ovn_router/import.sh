# The id is where OVN's northbound database is, with the name of the router behind it.
terraform import virtcluster_ovn_router.lab 'ssh://root@10.0.0.11#router/lab'
