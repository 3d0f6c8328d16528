# By the domain's UUID or name; after HYPERVISOR/ for a node on one of the provider's further hypervisors.
terraform import virtcluster_node.master okd-master-01
terraform import virtcluster_node.master kvm2/okd-master-01
