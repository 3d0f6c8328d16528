# The id is the endpoint with the first 16 characters of the host key's fingerprint, with - and _ for + and /.
terraform import virtcluster_service_node.first 'ssh://root@10.0.0.100?host_key=uNiVztksCsDhcc0u'
# The endpoint alone will do: the key is then the one that known_hosts has, or that the machine shows.
terraform import virtcluster_service_node.first ssh://root@10.0.0.100
