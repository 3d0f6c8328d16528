# The id is that of the service node, and the directory behind a #.
terraform import virtcluster_nfs_export.registry 'ssh://root@10.0.0.100#/srv/nfs/registry'
