# The id is the endpoint with the fingerprint of the host key.
terraform import virtcluster_service_node.first 'ssh://root@10.0.0.100?host_key=SHA256%3AuNiVztksCsDhcc0u9e8BrrQXVUpKZIDTMczCvj3tD2s'
# The endpoint alone will do: the key is then the one that known_hosts has, or that the machine shows.
terraform import virtcluster_service_node.first ssh://root@10.0.0.100
