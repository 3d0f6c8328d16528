# pool/name, hypervisor/pool/name, or the volume's path on the provider's own hypervisor.
terraform import virtcluster_volume.data default/okd-worker-01-data.qcow2
