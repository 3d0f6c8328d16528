# <service_node id>#server
terraform import virtcluster_dns_server.dns 'ssh://root@10.0.0.100?host_key=SHA256:jTWVLhOg2XcZFQPrN3mHm1mV3kM9sTq0b5n3M1v0u0Q#server'
