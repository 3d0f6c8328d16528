package bmc

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/bmc/config"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// rack is two nodes with a port each.
func rack() Controllers {
	return Controllers{Name: "rack", User: "admin", Password: "correct-horse", Version: 1, Address: "10.0.0.1", Nodes: map[string]config.Node{
		"w1": {Port: 8001, IPMIPort: 6231}, "w2": {Port: 8002, IPMIPort: 6232},
	}}
}

func TestValidateFindsWhatNobodyCouldServe(t *testing.T) {
	certificate, key, err := makePair(rack())
	if err != nil {
		t.Fatal(err)
	}
	_, otherKey, _ := makePair(rack())
	for name, c := range map[string]struct {
		change  func(*Controllers)
		at      []any
		summary string
	}{
		"nothing wrong":       {func(*Controllers) {}, nil, ""},
		"a shared port":       {func(c *Controllers) { c.SharedPort, c.Nodes = 8443, map[string]config.Node{"w1": {}, "w2": {}} }, nil, ""},
		"its own certificate": {func(c *Controllers) { c.Certificate, c.Key = certificate, key }, nil, ""},
		"an address each": {func(c *Controllers) {
			c.Address = ""
			c.Nodes = map[string]config.Node{"w1": {Address: "10.0.0.1", IPMIPort: 623}, "w2": {Address: "10.0.0.2", IPMIPort: 623}}
		}, nil, ""},
		"no nodes":            {func(c *Controllers) { c.Nodes = nil }, []any{"nodes"}, "No nodes"},
		"no address":          {func(c *Controllers) { c.Address = "" }, []any{"nodes", service.Key("w1")}, "No address"},
		"one port for two":    {func(c *Controllers) { c.Nodes["w2"] = config.Node{Port: 8001} }, []any{"nodes", service.Key("w2"), "port"}, "Port taken"},
		"one port everywhere": {func(c *Controllers) { c.Nodes["w2"] = config.Node{Address: "0.0.0.0", Port: 8001} }, []any{"nodes", service.Key("w2"), "port"}, "Port taken"},
		"a shared port, one everywhere": {func(c *Controllers) {
			c.SharedPort, c.Nodes = 8443, map[string]config.Node{"w1": {}, "w2": {Address: "0.0.0.0"}}
		}, []any{"nodes", service.Key("w2"), "port"}, "Port taken"},
		"a shared port, and one of its own": {func(c *Controllers) {
			c.SharedPort, c.Nodes = 8443, map[string]config.Node{"w1": {}, "w2": {Address: "0.0.0.0", Port: 8444}, "w3": {Port: 8444}}
		}, []any{"nodes", service.Key("w3"), "port"}, "Port taken"},
		"one IPMI port for two": {func(c *Controllers) { c.Nodes["w2"] = config.Node{Port: 8002, IPMIPort: 6231} }, []any{"nodes", service.Key("w2"), "ipmi_port"}, "Port taken"},
		"one id for two":        {func(c *Controllers) { c.Nodes["w2"] = config.Node{Port: 8002, SystemID: "w1"} }, []any{"nodes", service.Key("w2"), "system_id"}, "System twice"},
		"a name with a blank":   {func(c *Controllers) { c.Nodes = map[string]config.Node{"w 1": {}} }, []any{"nodes", service.Key("w 1")}, "Invalid name"},
		"a password too long":   {func(c *Controllers) { c.Password = strings.Repeat("x", 21) }, []any{"password"}, "Password too long"},
		"a user too long":       {func(c *Controllers) { c.User = strings.Repeat("x", 17) }, []any{"user"}, "Name too long"},
		"another key":           {func(c *Controllers) { c.Certificate, c.Key = certificate, otherKey }, []any{"tls"}, "Certificate and key do not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := rack()
			c.change(&want)
			problems := want.Validate()
			if c.summary == "" && len(problems) > 0 || c.summary != "" && !slices.ContainsFunc(problems, func(p service.Problem) bool { return p.Summary == c.summary && cmp.Equal(p.Path, c.at) }) {
				t.Errorf("problems are %+v", problems)
			}
		})
	}
	long := rack()
	long.Password = strings.Repeat("x", 40)
	long.Nodes = map[string]config.Node{"w1": {Port: 1}, "w2": {Port: 2}}
	if problems := long.Validate(); len(problems) > 0 {
		t.Errorf("without IPMI a long password is refused: %+v", problems)
	}
}

// RFC 5280, 4.1.2.2: 20 octets are the most of a serial number, and some clients refuse more.
func TestASerialNumberHasNoMoreOctetsThanItMay(t *testing.T) {
	certificate, _, err := makePair(rack())
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(certificate))
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil || c.SerialNumber.Sign() <= 0 || c.SerialNumber.BitLen() >= 20*8 {
		t.Errorf("%v: it has the serial number %v", err, c.SerialNumber)
	}
}

func TestThePlanSeesPortsInUseAndAddressesThatAreMissing(t *testing.T) {
	m := Machine{Addresses: []string{"127.0.0.1", "10.0.0.1"}, Listening: []string{"tcp 0.0.0.0:8001", "udp 10.0.0.1:6232", "tcp [::]:22", "tcp 10.0.0.2:8002"}}
	want := rack()
	want.Nodes["w3"] = config.Node{Address: "10.0.0.9", Port: 443}
	var got []string
	for _, p := range m.CheckPlan(want) {
		got = append(got, p.Summary+" "+string(p.Path[1].(service.Key)))
	}
	if want := []string{"Port in use w1", "Port in use w2", "Address that is not there w3"}; !slices.Equal(got, want) {
		t.Errorf("it is %q, not %q", got, want)
	}
}

func TestURLsOfNodes(t *testing.T) {
	n := rack().Complete("w1", config.Node{Address: "2001:db8::1", IPMIPort: 623})
	if got, want := RedfishURL(n)+" "+IPMIURL(n), "https://[2001:db8::1]:443/redfish/v1/Systems/w1 ipmi://[2001:db8::1]:623"; got != want {
		t.Errorf("they are %s, not %s", got, want)
	}
	if got := IPMIURL(config.Node{}); got != "" {
		t.Errorf("without IPMI it is %s", got)
	}
}
