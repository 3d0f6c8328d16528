# <service_node id>#<view>/<zone>
terraform import virtcluster_dns_zone.cluster 'ssh://root@10.0.0.100?host_key=jTWVLhOg2XcZFQPr#internal/okd.example.com'
terraform import virtcluster_dns_zone.reverse 'ssh://root@10.0.0.100?host_key=jTWVLhOg2XcZFQPr#internal/0.0.10.in-addr.arpa'
