# What the module plans, with nothing but a command-line program: `terraform test` or `tofu test` in the module's directory.
provider "virtcluster" {
  offline = true
}

variables {
  name        = "okd"
  base_domain = "example"
  networks    = { kimgtnet0 = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", bridge = "kimgtbr0", range = { start = "10.0.0.210", end = "10.0.0.240" } } }
  pool        = { name = "okd", path = "/var/lib/libvirt/okd" }
  node        = { image = "/images/cluster.qcow2" }
  service     = { image = "/images/service.qcow2" }
  external    = { cidr = "10.19.41.0/24", gateway = "10.19.41.254", bridge = "kiextbr0", interfaces = ["eno1"] }
  vips        = { inside = "10.0.0.250", outside = "10.19.41.160" }

  machines = {
    okd-master-01    = { role = "master", ip = "10.0.0.1", mac = "52:54:00:aa:6c:b1" }
    okd-master-02    = { role = "master", ip = "10.0.0.2" }
    okd-master-03    = { role = "master", ip = "10.0.0.3" }
    okd-worker-01    = { role = "worker", ip = "10.0.0.4" }
    okd-worker-02    = { role = "worker", ip = "10.0.0.5" }
    okd-bootstrap-01 = { role = "bootstrap", ip = "10.0.0.200" }
  }

  service_nodes = {
    okd-service-01 = { ip = "10.0.0.100", external_ip = "10.19.41.157", priority = 110 }
    okd-service-02 = { ip = "10.0.0.101", external_ip = "10.19.41.158" }
  }
}

run "three_masters_with_a_bootstrap" {
  command = plan

  assert {
    condition     = length(virtcluster_node.machine) == 6 && length(virtcluster_node.service) == 2
    error_message = "Not every machine is made."
  }
  assert {
    condition     = virtcluster_haproxy_backend.balanced["okd-service-01/api"].servers["okd-bootstrap-01"].backup && length(virtcluster_haproxy_backend.balanced["okd-service-01/api"].servers) == 4
    error_message = "The bootstrap does not stand in for the masters."
  }
  assert {
    condition     = toset(keys(virtcluster_haproxy_backend.balanced["okd-service-02/ingress-https"].servers)) == toset(["okd-worker-01", "okd-worker-02"])
    error_message = "Ingress does not lead to the workers."
  }
  assert {
    condition     = [for b in virtcluster_haproxy_frontend.balanced["okd-service-01/machine-config"].binds : b.address] == ["10.0.0.250"]
    error_message = "Machine configuration is offered outside."
  }
  assert {
    condition     = virtcluster_dns_zone.internal["okd-service-01/okd.example"].records["api-int"].A == tolist(["10.0.0.250"]) && virtcluster_dns_zone.external["okd-service-01/okd.example"].records["api"].A == tolist(["10.19.41.160"])
    error_message = "The names do not lead to the virtual addresses."
  }
  assert {
    condition     = virtcluster_dns_zone.reverse["okd-service-01/10.0.0.0/24"].records["250.0.0.10.in-addr.arpa."].PTR == tolist(["api.okd.example.", "api-int.okd.example."])
    error_message = "The virtual address does not lead back to the names."
  }
  assert {
    condition     = !contains(keys(virtcluster_dns_zone.external["okd-service-01/okd.example"].records), "api-int")
    error_message = "Strangers learn api-int."
  }
  assert {
    condition     = output.api.outside == "https://10.19.41.160:6443" && output.agent_config.rendezvousIP == "10.0.0.1" && output.machines["okd-master-01"].mac == "52:54:00:aa:6c:b1"
    error_message = "The outputs are not those of the cluster."
  }
  assert {
    condition     = yamldecode(output.inventory).all.children.master.hosts["okd-master-02"].ansible_host == "10.0.0.2" && strcontains(output.hosts_file, "okd-worker-01.okd.example") && strcontains(output.resolv_conf, "nameserver 10.0.0.101")
    error_message = "The files are not those of the cluster."
  }
}

run "a_bootstrap_that_stays_until_the_masters_serve" {
  command = plan

  variables {
    masters_serve = {}
  }
  assert {
    condition     = [for r in virtcluster_readiness.masters : "${r.url} ${r.when}"] == [for i in [1, 2, 3] : "https://10.0.0.${i}:6443/readyz destroy"]
    error_message = "The removal of the bootstrap does not wait for the masters."
  }
}

run "masters_that_never_serve_hold_nothing_back" {
  command = plan

  variables {
    masters_serve = { wait = false }
  }
  assert {
    condition     = [for r in virtcluster_readiness.masters : r.when] == ["never", "never", "never"]
    error_message = "Masters that run nothing are waited for."
  }
}

run "waiting_is_given_up_as_the_bootstrap_goes" {
  command = plan

  variables {
    masters_serve = { wait = false }
    bootstrap     = false
  }
  assert {
    condition     = [for r in virtcluster_readiness.masters : r.when] == ["never", "never", "never"]
    error_message = "What waits for the masters is destroyed, and not told to give up."
  }
}

run "the_bootstrap_removed" {
  command = plan

  variables {
    bootstrap = false
  }
  assert {
    condition     = length(virtcluster_node.machine) == 5 && length(virtcluster_haproxy_backend.balanced["okd-service-01/api"].servers) == 3
    error_message = "The bootstrap is still there."
  }
}

run "two_domains_and_a_worker_that_is_drained" {
  command = plan

  variables {
    domains  = ["okd.old.example"]
    machines = { m = { role = "master", ip = "10.0.0.1" }, w = { role = "worker", ip = "10.0.0.4", state = "drain" } }
  }
  assert {
    condition     = virtcluster_dns_zone.external["okd-service-02/okd.old.example"].records["api"].A == tolist(["10.19.41.160"]) && length(virtcluster_dns_zone.internal) == 4
    error_message = "The second domain is not served."
  }
  assert {
    condition     = virtcluster_haproxy_backend.balanced["okd-service-01/ingress-http"].servers["w"].state == "drain" && virtcluster_haproxy_backend.balanced["okd-service-01/api"].servers["m"].state == "ready"
    error_message = "The worker is not drained, or somebody else is."
  }
}

run "one_master_and_nothing_else" {
  command = plan

  variables {
    machines      = { m = { role = "master", ip = "10.0.0.1" } }
    service_nodes = { s = { ip = "10.0.0.100" } }
    vips          = {}
    external      = null
  }
  assert {
    condition     = length(virtcluster_vip.vip) == 0 && length(virtcluster_external_bridge.external) == 0 && length(virtcluster_dns_zone.external) == 0
    error_message = "Something is made for the outside."
  }
  assert {
    condition     = startswith(output.picture.svg, "<svg ") && jsondecode(output.picture.json).machines.m.addresses.kimgtnet0 == "10.0.0.1"
    error_message = "The picture is not that of the cluster."
  }
  assert {
    condition     = virtcluster_dns_zone.internal["s/okd.example"].records["*.apps"].A == tolist(["10.0.0.100"]) && keys(virtcluster_haproxy_backend.balanced["s/ingress-http"].servers) == tolist(["m"])
    error_message = "Ingress does not lead to the master by way of the service node's own address."
  }
  assert {
    condition     = endswith(output.hosts_file, "\n10.0.0.1 m.okd.example m\n10.0.0.100 s.okd.example s api.okd.example api-int.okd.example\n")
    error_message = "The hosts file does not have every name of the only service node's address."
  }
  assert {
    condition     = virtcluster_node.service["s"].network_interfaces[0].gateway == "10.0.0.254"
    error_message = "The service node has no way out."
  }
}

run "a_network_whose_gateway_is_left_out" {
  command = plan

  variables {
    networks = { kimgtnet0 = { cidr = "10.0.0.0/24" } }
    machines = { m = { role = "master", ip = "10.0.0.11" } }
  }
  assert {
    condition     = virtcluster_node.service["okd-service-01"].network_interfaces[0].nameservers == tolist(["10.0.0.1"])
    error_message = "A service node has nobody to ask for names."
  }
  assert {
    condition     = tolist([for i in virtcluster_node.service["okd-service-01"].network_interfaces : i.gateway]) == tolist([null, "10.19.41.254"])
    error_message = "A service node has no way out, or two."
  }
}

run "a_lan_outside_without_a_gateway" {
  command = plan

  variables {
    networks = { kimgtnet0 = { cidr = "10.0.0.0/24" } }
    machines = { m = { role = "master", ip = "10.0.0.11" } }
    external = { cidr = "10.19.41.0/24", bridge = "kiextbr0" }
  }
  assert {
    condition     = tolist([for i in virtcluster_node.service["okd-service-01"].network_interfaces : i.gateway]) == tolist(["10.0.0.1", null])
    error_message = "A service node has no way out."
  }
}

run "an_isolated_network_leads_nowhere" {
  command = plan

  variables {
    machines = { m = { role = "master", ip = "10.0.0.11" } }
    networks = { kimgtnet0 = { cidr = "10.0.0.0/24", mode = "isolated" } }
    external = null
    vips     = { inside = "10.0.0.250" }
  }
  assert {
    condition     = virtcluster_node.service["okd-service-01"].network_interfaces[0].gateway == null && virtcluster_node.service["okd-service-01"].network_interfaces[0].nameservers == tolist(["10.0.0.1"])
    error_message = "A service node is led into an isolated network, or has nobody to ask for names."
  }
}

run "a_service_node_with_nobody_to_ask_is_refused" {
  command = plan

  variables {
    networks = { kimgtnet0 = { cidr = "10.0.0.0/24", mode = "bridge", bridge = "br0" } }
  }
  expect_failures = [virtcluster_node.service]
}

run "five_masters_and_ten_workers" {
  command = plan

  variables {
    machines = merge(
      { for i in range(5) : "m${i}" => { role = "master", ip = "10.0.0.${i + 1}" } },
      { for i in range(10) : "w${i}" => { role = "worker", ip = "10.0.0.${i + 11}" } },
    )
  }
  assert {
    condition     = length(virtcluster_node.machine) == 15 && length(virtcluster_dns_zone.internal["okd-service-01/okd.example"].records["_etcd-server-ssl._tcp"].SRV) == 5
    error_message = "Not every machine is made and named."
  }
}

run "names_of_etcd_stay_where_records_have_them" {
  command = plan

  variables {
    machines = { for i in [0, 2, 4] : "m${i}" => { role = "master", ip = "10.0.0.${i + 1}" } }
    records = {
      etcd-2                  = { A = ["10.0.0.3"] }
      etcd-4                  = { A = ["10.0.0.5"] }
      "_etcd-server-ssl._tcp" = { SRV = [for i in [0, 2, 4] : "0 10 2380 etcd-${i}.okd.example."] }
    }
  }
  assert {
    condition     = [for i in [0, 1, 2, 4] : virtcluster_dns_zone.internal["okd-service-01/okd.example"].records["etcd-${i}"].A[0]] == [for i in [1, 3, 3, 5] : "10.0.0.${i}"]
    error_message = "The names of etcd are not in the masters' order, or not what records say."
  }
  assert {
    condition     = virtcluster_dns_zone.internal["okd-service-01/okd.example"].records["_etcd-server-ssl._tcp"].SRV[2] == "0 10 2380 etcd-4.okd.example."
    error_message = "The list of etcd's members is not what records say."
  }
}

run "unlike_the_usual" {
  command = plan

  variables {
    vrrp          = { inside = { virtual_router_id = 77 }, version = 2, advert_int = 2, preempt = false }
    vrrp_password = "between2"
    haproxy       = { maxconn = 100, timeouts = { client = "1h" }, stats = { port = 9001 }, extra_config = "tune.bufsize 32768" }
    dns           = { dnssec_validation = "auto", options = { "max-cache-size" = "64m" } }
    node          = { image = "/images/cluster.qcow2", checksum = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" }
  }
  assert {
    condition     = virtcluster_vip.vip["inside"].virtual_router_id == 77 && virtcluster_vip.vip["outside"].advert_int == 2 && virtcluster_vip.vip["outside"].preempt == false
    error_message = "The virtual addresses are as usual."
  }
  assert {
    condition     = virtcluster_haproxy.service["okd-service-01"].timeouts.client == "1h" && virtcluster_haproxy.service["okd-service-01"].timeouts.connect == "1s" && virtcluster_haproxy.service["okd-service-02"].stats.port == 9001
    error_message = "HAProxy is as usual."
  }
  assert {
    condition     = virtcluster_dns_server.service["okd-service-01"].dnssec_validation == "auto" && virtcluster_image.image["/cluster"].checksum != null && virtcluster_image.image["/service"].checksum == null
    error_message = "BIND and the images are as usual."
  }
}

run "another_network_that_comes_first_by_name" {
  command = plan

  variables {
    network = "kimgtnet0"
    networks = {
      kimgtnet0 = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", bridge = "kimgtbr0", range = { start = "10.0.0.210", end = "10.0.0.240" } }
      aside     = { cidr = "10.0.1.0/24" }
    }
  }
  assert {
    condition     = alltrue([for n in values(virtcluster_node.machine) : n.network_interfaces[0].network == "kimgtnet0"])
    error_message = "A network that is added takes the machines."
  }
}

run "a_network_that_is_none_of_them_is_refused" {
  command = plan

  variables {
    network = "elsewhere"
  }
  expect_failures = [var.network]
}

run "a_network_of_ipv6_is_refused" {
  command = plan

  variables {
    networks = { kimgtnet0 = { cidr = "fd00:a::/64", gateway = "fd00:a::1" } }
  }
  expect_failures = [var.networks]
}

run "no_external_access" {
  command = plan

  variables {
    external = null
    vips     = { inside = "10.0.0.250" }
  }
  assert {
    condition     = keys(virtcluster_vip.vip) == ["inside"] && length(virtcluster_dns_view.external) == 0 && length(virtcluster_node.service["okd-service-01"].network_interfaces) == 1
    error_message = "Something is made for the outside."
  }
  assert {
    condition     = output.ssh["okd-service-02"] == "ssh root@10.0.0.101" && output.ssh["okd-master-01"] == "ssh -J root@10.0.0.100 core@10.0.0.1"
    error_message = "Who logs in is led outside."
  }
}

run "machines_that_exist_already" {
  command = plan

  variables {
    machines = {
      m1 = { role = "master", ip = "10.0.0.1", mac = "52:54:00:00:00:01", exists = true }
      m2 = { role = "master", ip = "10.0.0.2", mac = "52:54:00:00:00:02", exists = true }
      m3 = { role = "master", ip = "10.0.0.3", mac = "52:54:00:00:00:03", exists = true }
      w1 = { role = "worker", ip = "10.0.0.4" }
    }
    service_nodes = {
      a = { ip = "10.0.0.100", external_ip = "10.19.41.157", exists = true }
      b = { ip = "10.0.0.101", external_ip = "10.19.41.158", exists = true, host_key = "SHA256:uNi+ztksCsDhcc0/9e8BrrQXVUpKZIDTMczCvj3tD2s" }
    }
    external = { cidr = "10.19.41.0/24" }
    exposed  = { ssh = { service_node = "a", address = "10.19.41.170", ports = { ssh = { port = 2222, target_port = 22 } }, targets = ["10.0.0.4"] } }
  }
  assert {
    condition     = keys(virtcluster_node.machine) == ["w1"] && length(virtcluster_node.service) == 0 && length(virtcluster_dhcp_reservation.machine) == 3
    error_message = "A machine that exists is made, or has no reservation."
  }
  assert {
    condition     = contains(virtcluster_service_node.service["a"].services, "nftables") && !contains(virtcluster_service_node.service["b"].services, "nftables")
    error_message = "Who exposes something has no nftables."
  }
}

run "guests_that_are_exposed_in_each_way" {
  command = plan

  variables {
    exposed = {
      web     = { service_node = "okd-service-01", address = "10.19.41.170", configure_address = true, interface = "eth2", ports = { https = { port = 443 } }, targets = ["10.0.0.4", "10.0.0.5"] }
      ssh     = { service_node = "okd-service-01", type = "external_ip", pool = "ssh://root@10.0.0.100#lan", masquerade = true, ports = { ssh = { port = 22 } }, targets = ["10.0.0.4"] }
      metrics = { service_node = "okd-service-02", type = "node_port", ports = { metrics = { target_port = 9100 } }, targets = ["10.0.0.4"] }
    }
  }
  assert {
    condition     = virtcluster_exposed_service.exposed["web"].type == "load_balancer" && virtcluster_exposed_service.exposed["web"].configure_address && virtcluster_exposed_service.exposed["web"].interface == "eth2" && !virtcluster_exposed_service.exposed["web"].masquerade
    error_message = "An address is not put where it is said to be."
  }
  assert {
    condition     = virtcluster_exposed_service.exposed["ssh"].type == "external_ip" && virtcluster_exposed_service.exposed["ssh"].pool == "ssh://root@10.0.0.100#lan" && virtcluster_exposed_service.exposed["ssh"].masquerade
    error_message = "A guest has no address of the pool's, or not behind the service node."
  }
  assert {
    condition     = virtcluster_exposed_service.exposed["metrics"].type == "node_port" && virtcluster_exposed_service.exposed["metrics"].address == null && virtcluster_exposed_service.exposed["metrics"].masquerade
    error_message = "A port is not that of every address."
  }
}

run "a_node_port_in_the_picture" {
  command = plan

  variables {
    exposed = { metrics = { service_node = "okd-service-02", type = "node_port", ports = { metrics = { port = 30910, target_port = 9100 } }, targets = ["10.0.0.4"] } }
  }
  assert {
    condition     = data.virtcluster_topology.cluster.exposures["metrics"].address == "10.19.41.158" && data.virtcluster_topology.cluster.exposures["metrics"].ports == tolist(["30910"])
    error_message = "The picture does not have the port where it is reached."
  }
}

run "two_hypervisors_in_one_subnet" {
  command = plan

  providers = {
    virtcluster = virtcluster.two
  }
  variables {
    networks = {
      one = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0" }
      two = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0", hypervisor = "kvm2" }
    }
    machines = {
      m1 = { role = "master", ip = "10.0.0.1" }
      m2 = { role = "master", ip = "10.0.0.2", network = "two" }
      m3 = { role = "master", ip = "10.0.0.3", network = "two" }
    }
    service_nodes = {
      a = { ip = "10.0.0.100", network = "one" }
      b = { ip = "10.0.0.101", network = "two" }
    }
    external = null
    vips     = { inside = "10.0.0.250" }
  }
  assert {
    condition     = virtcluster_node.machine["m2"].hypervisor == "kvm2" && length(virtcluster_storage_pool.pool) == 2 && length(virtcluster_image.image) == 4
    error_message = "The second hypervisor does not have what its machines need."
  }
  assert {
    condition     = virtcluster_node.machine["m2"].network_interfaces[0].addresses == tolist(["10.0.0.2/24"]) && length(virtcluster_dns_zone.reverse) == 2
    error_message = "A machine on a bridge is not told its address, or a reverse zone is there twice."
  }
}

run "a_hypervisor_that_is_emptied" {
  command = plan

  providers = {
    virtcluster = virtcluster.two
  }
  variables {
    hypervisors = { kvm2 = { schedulable = false } }
    networks = {
      one = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0" }
      two = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0", hypervisor = "kvm2" }
    }
    machines = {
      m1 = { role = "master", ip = "10.0.0.1" }
      m2 = { role = "master", ip = "10.0.0.2", network = "two" }
      m3 = { role = "master", ip = "10.0.0.3", network = "two" }
    }
    service_nodes = {
      a = { ip = "10.0.0.100", network = "one" }
      b = { ip = "10.0.0.101", network = "two" }
    }
    external = null
    vips     = { inside = "10.0.0.250" }
  }
  assert {
    condition     = alltrue([for n in concat(values(virtcluster_node.machine), values(virtcluster_node.service)) : n.hypervisor == null]) && length(virtcluster_image.image) == 4
    error_message = "Something stays on the hypervisor that is to be emptied, or its images go before what is upon them."
  }
  assert {
    condition     = virtcluster_node.machine["m2"].rollout.group == virtcluster_node.machine["m1"].rollout.group && virtcluster_node.machine["m2"].rollout.group != virtcluster_node.service["b"].rollout.group
    error_message = "The machines of a role do not take turns."
  }
  assert {
    condition     = virtcluster_node.service["b"].rollout.service_node.endpoint == virtcluster_service_node.service["b"].endpoint
    error_message = "A service node that is made anew does not get what it had."
  }
  assert {
    condition     = virtcluster_node.machine["m2"].network_interfaces[0].addresses == tolist(["10.0.0.2/24"])
    error_message = "A machine does not keep its address."
  }
}

run "a_hypervisor_that_the_last_machine_leaves" {
  command = plan

  providers = {
    virtcluster = virtcluster.two
  }
  variables {
    network = "one"
    networks = {
      one = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0" }
      two = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0", hypervisor = "kvm2" }
    }
    external = null
    vips     = { inside = "10.0.0.250" }
  }
  assert {
    condition     = length(virtcluster_storage_pool.pool) == 2 && length(virtcluster_image.image) == 4
    error_message = "The images of a hypervisor go before the machines that are upon them."
  }
}

run "a_hypervisor_whose_machines_have_nowhere_to_go_is_refused" {
  command = plan

  providers = {
    virtcluster = virtcluster.two
  }
  variables {
    hypervisors = { kvm2 = { schedulable = false } }
    networks    = { two = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0", hypervisor = "kvm2" } }
  }
  expect_failures = [var.hypervisors]
}

run "the_providers_own_hypervisor_whose_machines_have_nowhere_to_go_is_refused" {
  command = plan

  variables {
    hypervisors = { "" = { schedulable = false } }
  }
  expect_failures = [var.hypervisors]
}

run "machines_do_not_go_to_the_providers_own_hypervisor_that_is_emptied_too" {
  command = plan

  providers = {
    virtcluster = virtcluster.two
  }
  variables {
    hypervisors = { "" = { schedulable = false }, kvm2 = { schedulable = false } }
    networks = {
      one = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0" }
      two = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0", hypervisor = "kvm2" }
    }
  }
  expect_failures = [var.hypervisors]
}

run "a_hypervisor_without_a_network_is_refused" {
  command = plan

  variables {
    hypervisors = { kvm3 = { schedulable = false } }
  }
  expect_failures = [var.hypervisors]
}

provider "virtcluster" {
  alias       = "two"
  offline     = true
  hypervisors = { kvm2 = { uri = "qemu+ssh://kvm2.example/system" } }
}

run "an_external_bridge_on_one_of_two_hypervisors_is_refused" {
  command = plan

  providers = {
    virtcluster = virtcluster.two
  }
  variables {
    network = "one"
    networks = {
      one = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0" }
      two = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "bridge", bridge = "br0", hypervisor = "kvm2" }
    }
    service_nodes = {
      a = { ip = "10.0.0.100", external_ip = "10.19.41.157", network = "one" }
      b = { ip = "10.0.0.101", external_ip = "10.19.41.158", network = "two" }
    }
  }
  expect_failures = [virtcluster_node.service]
}

run "a_service_node_without_an_address_outside_is_refused" {
  command = plan

  variables {
    service_nodes = { a = { ip = "10.0.0.100" } }
  }
  expect_failures = [virtcluster_service_node.service]
}

run "a_service_node_that_exists_without_an_address_outside_is_refused" {
  command = plan

  variables {
    service_nodes = { a = { ip = "10.0.0.100", exists = true } }
  }
  expect_failures = [virtcluster_service_node.service]
}

run "an_even_number_of_masters_is_refused" {
  command = plan

  variables {
    machines = { m1 = { role = "master", ip = "10.0.0.1" }, m2 = { role = "master", ip = "10.0.0.2" } }
  }
  expect_failures = [var.machines]
}

run "a_machine_in_a_network_that_is_none_of_them_is_refused" {
  command = plan

  variables {
    machines = { m = { role = "master", ip = "10.0.0.1", network = "elsewhere" } }
  }
  expect_failures = [var.machines]
}

run "a_service_node_in_a_network_that_is_none_of_them_is_refused" {
  command = plan

  variables {
    service_nodes = { a = { ip = "10.0.0.100", external_ip = "10.19.41.157", network = "elsewhere" } }
  }
  expect_failures = [var.service_nodes]
}

run "a_service_node_with_the_name_of_a_machine_is_refused" {
  command = plan

  variables {
    service_nodes = { okd-master-01 = { ip = "10.0.0.100", external_ip = "10.19.41.157" } }
  }
  expect_failures = [var.service_nodes]
}

run "a_service_node_with_the_address_of_a_machine_is_refused" {
  command = plan

  variables {
    service_nodes = { a = { ip = "10.0.0.1", external_ip = "10.19.41.157" } }
  }
  expect_failures = [var.service_nodes]
}

run "a_worker_takes_the_address_of_the_bootstrap_that_went" {
  command = plan

  variables {
    bootstrap = false
    machines = {
      m = { role = "master", ip = "10.0.0.1" }
      w = { role = "worker", ip = "10.0.0.200" }
      b = { role = "bootstrap", ip = "10.0.0.200" }
    }
  }
  assert {
    condition     = output.machines["w"].ip == "10.0.0.200"
    error_message = "The worker does not have the bootstrap's address."
  }
}

run "a_guest_exposed_by_a_service_node_that_is_none_is_refused" {
  command = plan

  variables {
    exposed = { ssh = { service_node = "elsewhere", address = "10.19.41.170", ports = { ssh = { port = 22 } }, targets = ["10.0.0.4"] } }
  }
  expect_failures = [var.exposed]
}

run "a_balanced_service_of_a_role_that_is_none_is_refused" {
  command = plan

  variables {
    balanced = { metrics = { port = 9100, roles = ["worker", "infra"] } }
  }
  expect_failures = [var.balanced]
}

run "interfaces_outside_without_a_bridge_are_refused" {
  command = plan

  variables {
    external = { cidr = "10.19.41.0/24", gateway = "10.19.41.254", interfaces = ["eno1"] }
  }
  expect_failures = [var.external]
}

run "service_nodes_that_are_made_without_a_bridge_outside_are_refused" {
  command = plan

  variables {
    external = { cidr = "10.19.41.0/24", gateway = "10.19.41.254" }
  }
  expect_failures = [var.external]
}

run "a_pair_without_a_virtual_address_is_refused" {
  command = plan

  variables {
    vips     = {}
    external = null
  }
  expect_failures = [virtcluster_service_node.service]
}

run "the_network_stays_when_service_nodes_come_and_go" {
  command = plan

  variables {
    name_servers = ["10.0.0.250"]
    domains      = ["okd.new.example"]
  }

  assert {
    condition     = virtcluster_network.network["kimgtnet0"].dhcp.options["dns-server"] == "10.0.0.250" && strcontains(output.resolv_conf, "nameserver 10.0.0.250") && !strcontains(output.resolv_conf, "10.0.0.100")
    error_message = "Machines do not ask the inside address for names."
  }
  assert {
    condition     = alltrue([for view in values(data.virtcluster_topology.cluster.views) : toset(view.zones) == toset(["okd.example", "okd.new.example"])])
    error_message = "The picture lacks a domain that is served."
  }
}
