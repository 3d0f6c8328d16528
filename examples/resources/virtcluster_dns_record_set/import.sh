# <service_node id>#<view>/<zone>/<name>/<type>
terraform import virtcluster_dns_record_set.registry 'ssh://root@10.0.0.100?host_key=jTWVLhOg2XcZFQPr#internal/okd.example.com/registry/A'
