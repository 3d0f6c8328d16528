# HOST#NAME
terraform import virtcluster_hosts_file.cluster 'local:#okd'
