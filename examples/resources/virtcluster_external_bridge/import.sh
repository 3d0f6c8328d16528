# NAME, or HOST#NAME, or HYPERVISOR#NAME
terraform import virtcluster_external_bridge.external kiextbr0
