# <service_node id>#frontend/<name>
terraform import virtcluster_haproxy_frontend.api 'ssh://root@10.0.0.100?host_key=SHA256:jTWVLhOg2XcZFQPrN3mHm1mV3kM9sTq0b5n3M1v0u0Q#frontend/api'
