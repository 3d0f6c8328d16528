package crud

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Server is a Store of something that a daemon serves, and that stays in its files while the daemon is stopped.
type Server interface {
	// Serving says whether the daemon ran when the object was read last, and had all of it.
	Serving() bool
}

// ServingModel is what the models of such a Store embed: state has whether the daemon runs, and a plan always that it shall. So a
// daemon that was stopped by hand is seen, and started by the next apply.
type ServingModel struct {
	Serving types.Bool `tfsdk:"serving"`
}

// ServingAttribute is the attribute of ServingModel; daemon is its name in the description.
func ServingAttribute(daemon string) schema.BoolAttribute {
	return schema.BoolAttribute{
		Computed: true, Default: booldefault.StaticBool(true),
		Description: "Whether " + daemon + " runs. What is configured stays in its files while it is stopped; a plan shows that it is, and an apply starts it.",
	}
}

func (s *ServingModel) setServing(serving bool) { s.Serving = types.BoolValue(serving) }

// setServing writes into a model that is ServingModel what its store knows.
func setServing[M, S any](m *M, store Store[S]) {
	served, ok := any(m).(interface{ setServing(serving bool) })
	if !ok {
		return
	}
	server, ok := store.(Server)
	served.setServing(!ok || server.Serving())
}
