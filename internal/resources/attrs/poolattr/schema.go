package poolattr

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// ID is the attribute of a volume's id.
func ID() schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true, MarkdownDescription: "Path of the volume on the hypervisor.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// Name is the attribute of a volume's name; anew is what a change makes, as the description calls it.
func Name(example, anew string) schema.StringAttribute {
	return schema.StringAttribute{
		Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		MarkdownDescription: "Name of the volume in the pool, such as `" + example + "`. A change makes a new " + anew + ".",
		Validators:          []validator.String{values.Name, stringvalidator.RegexMatches(storage.NameForm, "must not be empty and must hold no slash and no control character")},
	}
}

// Pool is the attribute that names a volume's pool; anew is what a change makes, as the description calls it.
func Pool(anew string) schema.StringAttribute {
	return values.Name.Default(storage.Default, "Name of the storage pool. Default: `default`. A change makes a new "+anew+".", stringplanmodifier.RequiresReplace())
}
