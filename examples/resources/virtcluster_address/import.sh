# The pool's id, and the key.
terraform import virtcluster_address.api 'ssh://root@10.0.0.100#external/okd/api'
