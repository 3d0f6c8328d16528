# By network and MAC address; after HYPERVISOR/ for a network on one of the provider's further hypervisors.
terraform import virtcluster_dhcp_reservation.registry kimgtnet0/52:54:00:aa:6c:01
