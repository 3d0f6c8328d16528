# HOST
terraform import virtcluster_resolver.hypervisor 'ssh://root@kvm1.example'
