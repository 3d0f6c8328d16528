# The id is where OVN's northbound database is, with the name of the security group behind it.
terraform import virtcluster_ovn_security_group.web 'ssh://root@10.0.0.11#security_group/web'
