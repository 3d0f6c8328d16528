# The two virtual addresses of an OpenShift cluster on premises, as its own keepalived would hold them: the
# same virtual router ids, states, priorities and checks. A machine whose check succeeds has 50 more than one
# whose check fails, so an address is where the API server or the router answers, and stays there while it does.
# CI runs it: TestAccTheOpenShiftExampleIsOpenShifts.
terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

provider "virtcluster" {
  ssh = { private_key_file = var.ssh_private_key_file }
}

locals {
  roles = {
    # chk_ocp: the API server, and the load balancer before it.
    api = {
      address = var.api_vip
      check   = <<-EOT
        #!/bin/sh
        /usr/bin/timeout 0.9 /usr/bin/curl -o /dev/null -kLfs https://localhost:6443/readyz && /usr/bin/timeout 0.9 /usr/bin/curl -o /dev/null -kLfs https://localhost:${var.balancer_port}/readyz
      EOT
    }
    # chk_ingress: the router.
    ingress = {
      address = var.ingress_vip
      check   = <<-EOT
        #!/bin/sh
        /usr/bin/timeout 0.9 /usr/bin/curl -o /dev/null -Lfs http://localhost:1936/healthz
      EOT
    }
  }
}

resource "virtcluster_service_node" "machine" {
  for_each = var.machines

  endpoint = "ssh://root@${each.value}"
  services = ["keepalived"]
  host_key = lookup(var.host_keys, each.key, null)
}

resource "virtcluster_vip" "openshift" {
  for_each = local.roles

  name      = "${var.cluster}-${each.key}" # its checksum is the virtual router id, as in OpenShift
  addresses = ["${each.value.address}/${var.prefix_length}"]

  advert_int = 1
  auth_pass  = substr("${var.cluster}_${each.key}_vip", 0, 8) # what VRRP has room for

  members = { for name, address in var.machines : name => {
    service_node = virtcluster_service_node.machine[name].id
    interface    = var.interface
    address      = address
    priority     = 40
    state        = "BACKUP"
  } }

  track = [{ name = "check", script_content = each.value.check, interval = 1, weight = 50 }]
}

output "vips" {
  description = "The virtual router id of each address and the machine that holds it."
  value       = { for role, vip in virtcluster_vip.openshift : role => { id = vip.virtual_router_id, owner = vip.owner } }
}
