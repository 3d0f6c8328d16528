# The service node's id (or an endpoint), and the pool's name.
terraform import virtcluster_address_pool.external 'ssh://root@10.0.0.100#external'
