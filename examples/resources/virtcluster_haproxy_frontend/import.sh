# <service_node id>#frontend/<name>
terraform import virtcluster_haproxy_frontend.api 'ssh://root@10.0.0.100?host_key=jTWVLhOg2XcZFQPr#frontend/api'
