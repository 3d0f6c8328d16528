# HOST#CIDR, or HOST#CIDR,METRIC
terraform import virtcluster_route.pods 'ssh://root@kvm1.example#10.128.2.0/23'
