# NAME/NODE, or NAME.GENERATION/NODE, with the node as it is written in the configuration.
terraform import virtcluster_backup.sunday sunday.1/1f0c9e3a-5d0e-4f6f-9a57-0d4f1b6c2a11
