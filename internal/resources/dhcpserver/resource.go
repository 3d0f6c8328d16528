// Package dhcpserver is the resource virtcluster_dhcp_server.
package dhcpserver

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/kea"
)

// form is what an id looks like.
const form = "SERVICE_NODE#dhcp/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, kea.Server]{
		Form: form, Name: "interface", Part: kea.NewPart,
		Type: crud.Type[model, kea.Server]{
			Name:      "dhcp_server",
			Noun:      "DHCP server",
			Schema:    resourceSchema,
			Spec:      toSpec,
			TryAtPlan: func(bool) bool { return true },
		},
	})
}
