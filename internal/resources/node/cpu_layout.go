package node

import (
	"context"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/cpuset"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// processors are some of a machine, and vcpu the number of one of a guest.
var (
	processors = values.New("set of processors", "2-3", cpuset.Check)
	vcpu       = values.Matching("number of a vCPU", "0", regexp.MustCompile(`^(0|[1-9][0-9]{0,3})$`), "the number of a vCPU, from 0")
)

// addLayout adds to the attributes of the processor how vCPUs are laid out.
func addLayout(cpu values.Attributes) values.Attributes {
	count := func(what string) schema.Attribute {
		return values.Between(1, 1024).OptionalComputed(what + " Default: 1.")
	}
	cpu["topology"] = values.OptionalComputedObject("How the guest sees its vCPUs laid out: as many as `max_vcpus` in all. A node that exists keeps what is left out, and `{}` leaves it to libvirt, which makes a socket of each. Another one needs a restart.", values.Attributes{
		"sockets": count("Sockets."), "dies": count("Dies of a socket."), "cores": count("Cores of a die."), "threads": count("Threads of a core."),
	})
	cpu["pinning"] = values.Each(processors).Keys(vcpu).OptionalComputedMap("Processors of the hypervisor that vCPUs run on, by the vCPUs' numbers: `{ \"0\" = \"2-3\" }`. It changes while the node runs. A node that exists keeps what is left out, and `{}` lets all run anywhere.", crud.MapLeftOut()...)
	return cpu
}

// memoryAttributes are those of what the memory is made of.
func memoryAttributes() values.Attributes {
	return values.Attributes{
		"hugepages": values.OneOf("none", "default", "2M", "1G").OptionalComputed("Pages that the memory is made of, which the hypervisor must have set aside: `2M`, `1G`, `default` for its default size, or `none`. A change needs a restart. Default: `none`."),
		"numa": values.Objects().OptionalComputedListOf("Parts (NUMA nodes) of the guest's memory, which make `max_memory_mib` together. A node that exists keeps what is left out; `[]` makes it one part. A change needs a restart.", values.Attributes{
			"cpus":       processors.Required("vCPUs that are near to this part, such as `0-1`."),
			"memory_mib": values.MiB(1).Required("Size of the part in MiB."),
			"host_nodes": processors.Optional("Nodes of the hypervisor that its memory is taken from. Default: any."),
		}, crud.ListLeftOut()...),
	}
}

// completeMemory fills in what the configuration leaves open of the memory.
func completeMemory(planned, config, prior *version) {
	keepOrDefault(&planned.Hugepages, config.Hugepages, prior.Hugepages, types.StringValue("none"))
	keepOrDefault(&planned.NUMA, config.NUMA, prior.NUMA, nullList("numa"))
}

// nullList is that of an attribute of the node.
func nullList(attribute string) types.List {
	return types.ListNull(attributeTypes()[attribute].(types.ListType).ElemType)
}

// completeLayout fills in the layout that the configuration of a processor leaves open. Where some of a topology is written, there is one of
// each of the rest.
func completeLayout(c, given, was *cpuModel) {
	if was == nil {
		was = &cpuModel{}
	}
	keepOrDefault(&c.Pinning, given.Pinning, was.Pinning, types.MapNull(types.StringType))
	keepOrDefault(&c.Topology, given.Topology, was.Topology, asObject(machine.Topology{}))
	if !given.Topology.IsNull() && convert.WhollyKnown(context.Background(), given.Topology) {
		if t, diags := convert.Plain[struct {
			Topology machine.Topology `attr:"topology"`
		}](&struct {
			Topology types.Object `tfsdk:"topology"`
		}{given.Topology}); !diags.HasError() {
			c.Topology = asObject(t.Topology.Complete())
		}
	}
}
