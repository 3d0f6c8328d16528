# <service_node id>#backend/<name>
terraform import virtcluster_haproxy_backend.api 'ssh://root@10.0.0.100?host_key=jTWVLhOg2XcZFQPr#backend/api'
