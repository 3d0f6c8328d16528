package hostsfile

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Names for addresses in a machine's `/etc/hosts`, so that the machine resolves them without DNS: a block between two comments. " +
			"What else is in the file, and blocks of other states, stay as they are. A resolver takes the first line that has a name, so a name that stands above the block keeps its address. " +
			"Where cloud-init writes the file anew at each start (`manage_etc_hosts: true`), the plan warns: the block would be gone then until the next apply.",
		Attributes: map[string]schema.Attribute{
			"id":   hostattr.ID(form),
			"host": hostattr.Host(),
			"name": values.Name.Default("hosts", "Name of the block: one file may have several. Default: `hosts`.", stringplanmodifier.RequiresReplace()),
			"entries": schema.MapAttribute{
				Required: true, ElementType: types.ListType{ElemType: types.StringType},
				MarkdownDescription: "Host names by address: `{ \"10.0.0.100\" = [\"api.okd.example\", \"api-int.okd.example\"] }`. The first name of an address is the canonical one.",
				Validators:          []validator.Map{values.Each(values.Each(values.HostName)).Keys(values.Address), mapvalidator.ValueListsAre()},
			},
		},
	}
}
