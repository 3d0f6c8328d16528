# What is asked, and behind # the machine that asks, where it is another one; it is asked once.
terraform import virtcluster_readiness.api 'https://api-int.okd.example:6443/readyz#ssh://root@10.0.0.100'
