# <service_node id>#<view>/<zone>/<name>/<type>
terraform import virtcluster_dns_record_set.registry 'ssh://root@10.0.0.100?host_key=SHA256:jTWVLhOg2XcZFQPrN3mHm1mV3kM9sTq0b5n3M1v0u0Q#internal/okd.example.com/registry/A'
