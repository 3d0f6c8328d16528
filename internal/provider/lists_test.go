package provider_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// withoutList are the types that have no list resource; the guide says why.
var withoutList = []string{
	"backup", "ovn", "pod_network", "readiness", "resolver", "service_node", "snapshot",
}

func TestEveryTypeHasAListOrTheGuideSaysWhyNot(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../templates/guides/coming-from-libvirt.md")
	if err != nil {
		t.Fatal(err)
	}
	_, why, found := strings.Cut(string(guide), "No list resource, and nothing in the inventory, have")
	if !found {
		t.Fatal("the guide does not say which types have none")
	}
	why, _, _ = strings.Cut(why, "\n## ")
	resp, err := provider.Server("test").GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	without := map[string]bool{}
	for _, name := range withoutList {
		without["virtcluster_"+name] = true
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(why, "`"+name+"`") {
				t.Error("the guide does not say why it has none")
			}
		})
	}
	for name := range resp.ResourceSchemas {
		if _, has := resp.ListResourceSchemas[name]; has == without[name] {
			t.Errorf("%s has a list resource: %v, and is said to have none: %v", name, has, without[name])
		}
	}
}
