# The id is that of the service node, with #http/, the address and port, and the path behind it.
terraform import virtcluster_http_content.hello 'ssh://root@10.0.0.100#http/10.0.0.100:8080/hello.txt'
