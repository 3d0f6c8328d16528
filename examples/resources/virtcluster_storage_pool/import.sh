# By name, or by UUID; hypervisor/name for a pool on one of the provider's further hypervisors.
terraform import virtcluster_storage_pool.okd okd
