# <service_node id>#server
terraform import virtcluster_dns_server.dns 'ssh://root@10.0.0.100?host_key=jTWVLhOg2XcZFQPr#server'
