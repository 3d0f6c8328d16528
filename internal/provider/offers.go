package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/actions/drain"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/actions/flushzone"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/actions/movevip"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/actions/nodepower"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/actions/snapshotrevert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/dhcpleases"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/dnslookup"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/exposures"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/haproxystatus"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/hostnetwork"
	hypervisordata "github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/inventory"
	networkdata "github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/network"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/nodes"
	topologydata "github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/topology"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/datasources/vipstatus"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ephemerals/kubeconfig"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ephemerals/password"
	fn "github.com/virtcluster/terraform-provider-virtcluster/internal/functions"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/address"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/backup"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/bmc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/bootprofile"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/bootserver"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dhcpreservation"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dhcpserver"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnsrecordset"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnsserver"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnsview"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnszone"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/exposedservice"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/externalbridge"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/floatingaddress"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxybackend"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxyfrontend"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostsfile"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/httpcontent"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/image"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/netinterface"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/network"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/nfsexport"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/node"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/ovnbalancer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/ovnnetwork"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/ovnrouter"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/ovnsecuritygroup"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/podnetwork"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/readiness"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/registry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/resolver"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/route"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/servicenode"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/snapshot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/storagepool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/timeserver"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/vip"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/volume"
)

// resources is every resource type the provider offers.
var resources = []func() resource.Resource{
	address.New,
	addresspool.New,
	bmc.New,
	exposedservice.New,
	nfsexport.New,
	floatingaddress.New,
	dhcpreservation.New,
	bootserver.New,
	bootprofile.New,
	dhcpserver.New,
	dnsrecordset.New,
	dnsserver.New,
	dnsview.New,
	dnszone.New,
	externalbridge.New,
	haproxy.New,
	haproxybackend.New,
	haproxyfrontend.New,
	hostsfile.New,
	netinterface.New,
	servicenode.New,
	snapshot.New,
	backup.New,
	network.New,
	ovn.New,
	ovnbalancer.New,
	ovnnetwork.New,
	ovnrouter.New,
	ovnsecuritygroup.New,
	node.New(),
	podnetwork.New,
	readiness.New,
	registry.New,
	resolver.New,
	route.New,
	storagepool.New,
	timeserver.New,
	volume.New,
	httpcontent.New,
	image.New,
	vip.New,
}

// dataSources is every data source the provider offers.
var dataSources = []func() datasource.DataSource{
	dhcpleases.New,
	dnslookup.New,
	exposures.New,
	haproxystatus.New,
	hostnetwork.New,
	hypervisordata.New,
	inventory.New(resources),
	networkdata.New,
	vipstatus.New,
	crud.Lookup("pool", storagepool.New),
	crud.Lookup("volume", volume.New),
	crud.Lookup("image", image.New, "source", "checksum", "source_sha256"),
	crud.Lookup("node", node.New()),
	nodes.New,
	topologydata.New,
}

// actions is every action the provider offers.
var actions = []func() action.Action{
	drain.New,
	drain.NewUndrain,
	flushzone.New,
	movevip.New,
	nodepower.New,
	snapshotrevert.New,
}

// ephemerals is every ephemeral resource the provider offers.
var ephemerals = []func() ephemeral.EphemeralResource{
	kubeconfig.New,
	password.New,
}

// functions is every function the provider offers.
var functions = []func() function.Function{
	fn.NewAgentConfig,
	fn.NewHostsFile,
	fn.NewIgnitionMerge,
	fn.NewInstallConfig,
	fn.NewKubeadmConfig,
	fn.NewStaticPods,
	fn.NewMACAddress,
	fn.NewPodCIDR,
	fn.NewResolvConf,
	fn.NewReverseZone,
	fn.NewVirtualRouterID,
}
