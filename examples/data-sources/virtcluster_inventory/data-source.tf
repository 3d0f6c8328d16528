data "virtcluster_inventory" "by_hand" {
  include = ["nobody"]
}

# terraform output -raw imports >imports.tf; terraform output -raw resources >resources.tf
output "imports" {
  value = data.virtcluster_inventory.by_hand.import_blocks
}

output "resources" {
  value = data.virtcluster_inventory.by_hand.configuration
}

# What no resource says, with its place.
output "left_over" {
  value = data.virtcluster_inventory.by_hand.unmodelled
}
