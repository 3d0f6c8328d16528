# <service_node id>#haproxy
terraform import virtcluster_haproxy.balancer 'ssh://root@10.0.0.100?host_key=jTWVLhOg2XcZFQPr#haproxy'
