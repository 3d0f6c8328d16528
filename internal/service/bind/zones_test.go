package bind

import (
	"slices"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// A zone of an IPv6 address can hold any text, as Go reads it: none may reach a configuration.
func TestNoAddressCarriesConfiguration(t *testing.T) {
	const evil = "fe80::1%1; };\n\tinclude \"/tmp/evil.conf\"; acl x { any"
	for name, problems := range map[string][]service.Problem{
		"match_clients":   View{Name: "a", MatchClients: []string{evil}}.Validate(),
		"allow_query":     View{Name: "a", AllowQuery: []string{"!" + evil}}.Validate(),
		"view forwarders": View{Name: "a", Forwarders: []string{"[" + evil + "]:53"}}.Validate(),
		"listen_on":       Server{ListenOn: []string{evil}}.Validate(),
		"forwarders":      Server{Forwarders: []string{evil}}.Validate(),
		"allow_transfer":  Zone{View: "a", Name: "z.example", AllowTransfer: []string{evil}}.Validate(),
		"forward.servers": Zone{View: "a", Name: "z.example", Forward: &Forward{Servers: []string{evil}}}.Validate(),
		"pointers":        Zone{View: "a", CIDR: "fe80::/64", Pointers: map[string]string{evil: "a.example."}}.Validate(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !slices.ContainsFunc(problems, func(p service.Problem) bool { return !p.Warning && p.Summary != "No name servers" }) {
				t.Errorf("%s takes it", name)
			}
		})
	}
}
