package alloc

// VirtualRouterID is the id that OpenShift's Machine Config Operator gives the VRRP instance of a cluster's
// role, "api" or "ingress": Fletcher-8 over "<cluster>-<role>", plus one. It is 1 to 255. Two clusters on
// one segment may share an id by chance ("vmware" and "k8scluster" do): then one of them must set its own.
func VirtualRouterID(cluster, role string) int { return VirtualRouterIDOf(cluster + "-" + role) }

// VirtualRouterIDOf is the id for an instance's whole name, "<cluster>-<role>" or any other.
func VirtualRouterIDOf(name string) int {
	var a, b int
	for _, c := range []byte(name) {
		a = (a + int(c)) % 15
		b = (b + a) % 15
	}
	return (b<<4 | a) + 1
}

// MaskedVirtualRouterID is the id of OpenShift's first form: the sums are cut to four bits instead of divided by 15, and
// nothing is added. It is 0 to 255, and 0 is no id. The installer's script for the bootstrap machine
// (data/data/bootstrap/baremetal/files/usr/local/bin/fletcher8) had it before 4.5, and the nodes
// (openshift/baremetal-runtimecfg) until September 2019.
func MaskedVirtualRouterID(cluster, role string) int {
	var a, b int
	for _, c := range []byte(cluster + "-" + role) {
		a = (a + int(c)) & 0xf
		b = (b + a) & 0xf
	}
	return b<<4 | a
}
