# The id is that of the service node, and the registry's name behind #registry/.
terraform import virtcluster_registry.images 'ssh://root@10.0.0.100#registry/images'
