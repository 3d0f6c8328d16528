terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

output "kubeadm" {
  value = provider::virtcluster::kubeadm_config({
    ClusterConfiguration = {
      kubernetesVersion    = "v1.34.1"
      controlPlaneEndpoint = "api.k8s.example:6443" # the VIP of the service nodes
      networking           = { podSubnet = "10.128.0.0/14", serviceSubnet = "10.96.0.0/12" }
      apiServer            = { certSANs = ["api.k8s.example", "10.0.0.250"] }
    }
    KubeletConfiguration = { cgroupDriver = "systemd" }
  })
}
