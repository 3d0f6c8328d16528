# The id is where OVN's northbound database is, with the name of the load balancer behind it.
terraform import virtcluster_ovn_load_balancer.api 'ssh://root@10.0.0.11#load_balancer/api'
