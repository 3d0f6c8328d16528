# The ids of the members' service nodes, separated by commas, then # and the name.
terraform import virtcluster_vip.api 'ssh://root@10.0.0.100?host_key=SHA256%3A2fZ…,ssh://root@10.0.0.101?host_key=SHA256%3Az8K…#okd-api'
