# pool/name, hypervisor/pool/name, or the volume's path on the provider's own hypervisor.
terraform import virtcluster_image.fcos default/fcos.qcow2
