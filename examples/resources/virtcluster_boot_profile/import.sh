# The id is that of the boot server, and the profile's name behind a slash.
terraform import virtcluster_boot_profile.worker 'ssh://root@10.0.0.100#boot/worker-1'
