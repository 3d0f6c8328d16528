# <service_node id>#<view>/<zone>
terraform import virtcluster_dns_zone.cluster 'ssh://root@10.0.0.100?host_key=SHA256:jTWVLhOg2XcZFQPrN3mHm1mV3kM9sTq0b5n3M1v0u0Q#internal/okd.example.com'
terraform import virtcluster_dns_zone.reverse 'ssh://root@10.0.0.100?host_key=SHA256:jTWVLhOg2XcZFQPrN3mHm1mV3kM9sTq0b5n3M1v0u0Q#internal/0.0.10.in-addr.arpa'
