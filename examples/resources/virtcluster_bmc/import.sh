# NAME, or HYPERVISOR/NAME
terraform import virtcluster_bmc.rack rack
