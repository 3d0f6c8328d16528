# By name or by UUID; after HYPERVISOR/ for a network on one of the provider's further hypervisors.
terraform import virtcluster_network.management kimgtnet0
terraform import virtcluster_network.management kvm2/kimgtnet0
