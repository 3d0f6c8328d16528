# <service_node id>#<name>
terraform import virtcluster_dns_view.internal 'ssh://root@10.0.0.100?host_key=jTWVLhOg2XcZFQPr#internal'
