output "api" {
  description = "Where the API answers, inside and outside."
  value       = { for where, addresses in local.answer : where => "https://${addresses[0]}:6443" if length(addresses) > 0 }
}

output "vip_owner" {
  description = "The service node that holds each virtual address."
  value       = { for where, vip in virtcluster_vip.vip : where => vip.owner }
}

output "machines" {
  description = "Each machine's role, address and MAC address, those of service nodes too."
  value = merge(
    { for name, m in local.machines : name => { role = m.role, ip = m.ip, mac = local.macs[name], network = m.network } },
    { for name, s in local.services : name => { role = "service", ip = s.ip, mac = try(virtcluster_node.service[name].network_interfaces[0].mac, s.mac), network = s.network } },
  )
}

output "service_nodes" {
  description = "Ids of the service nodes by name, for resources beside the module: more zones, frontends, exports."
  value       = { for name, s in virtcluster_service_node.service : name => s.id }
}

locals {
  macs = { for name, m in local.machines : name => m.exists ? m.mac : virtcluster_node.machine[name].network_interfaces[0].mac }
}

output "install_config" {
  description = "For provider::virtcluster::install_config, merged with your pullSecret and sshKey."
  value = {
    baseDomain   = var.base_domain
    metadata     = { name = var.name }
    controlPlane = { replicas = length(local.by_role.master) }
    compute      = [{ replicas = length(local.by_role.worker) }]
    networking = {
      networkType    = "OVNKubernetes"
      machineNetwork = [for cidr in distinct([for n in values(var.networks) : n.cidr]) : { cidr = cidr }]
      clusterNetwork = [{ cidr = var.pods.cidr, hostPrefix = var.pods.host_prefix }]
      serviceNetwork = [var.pods.services]
    }
    platform = { none = {} }
  }
}

output "agent_config" {
  description = "For provider::virtcluster::agent_config. The first master is where the installation begins."
  value = {
    metadata     = { name = var.name }
    rendezvousIP = local.by_role.master[sort(keys(local.by_role.master))[0]]
    hosts = [for name, m in local.machines : {
      hostname   = name
      role       = m.role
      interfaces = [{ name = "eth0", macAddress = local.macs[name] }]
    } if m.role != "bootstrap"]
  }
}

output "kubeadm" {
  description = "For provider::virtcluster::kubeadm_config, merged with your kubernetesVersion."
  value = { ClusterConfiguration = {
    controlPlaneEndpoint = "api.${local.domain}:6443"
    networking           = { podSubnet = var.pods.cidr, serviceSubnet = var.pods.services, dnsDomain = "cluster.local" }
    apiServer            = { certSANs = concat(["api.${local.domain}", "api-int.${local.domain}"], local.answer.inside, local.answer.outside) }
  } }
}

output "hosts_file" {
  description = "The text of /etc/hosts for who cannot ask the service nodes."
  value = provider::virtcluster::hosts_file({ for ip in distinct(concat(values(local.names), local.answer.inside)) : ip => concat(
    flatten([for name, of in local.names : ["${name}.${local.domain}", name] if of == ip]),
    contains(local.answer.inside, ip) ? ["api.${local.domain}", "api-int.${local.domain}"] : [],
  ) })
}

output "resolv_conf" {
  description = "The text of /etc/resolv.conf for machines inside."
  value       = provider::virtcluster::resolv_conf(local.resolvers, [local.domain])
}

output "inventory" {
  description = "Ansible's inventory, as YAML."
  value = yamlencode({ all = { children = merge(
    { for role, members in local.by_role : role => { hosts = { for name, ip in members : name => { ansible_host = ip } } } if length(members) > 0 },
    { service = { hosts = { for name, s in local.services : name => { ansible_host = s.ip, ansible_user = "root" } } } },
  ) } })
}

output "ssh" {
  description = "Commands to log in, by machine. Machines inside are reached through a service node."
  value = merge(
    { for name, s in local.services : name => "ssh root@${coalesce(s.external_ip, s.ip)}" },
    { for name, m in local.machines : name => "ssh -J root@${coalesce(values(local.services)[0].external_ip, values(local.services)[0].ip)} core@${m.ip}" },
  )
}
