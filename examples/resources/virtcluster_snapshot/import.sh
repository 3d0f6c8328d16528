# The name, or NAME/NODE,NODE,… with the nodes as they are written in the configuration.
terraform import virtcluster_snapshot.before_upgrade before-upgrade
