# The id is that of the service node, and the name behind a #.
terraform import virtcluster_exposed_service.web 'ssh://root@10.0.0.100#web'
