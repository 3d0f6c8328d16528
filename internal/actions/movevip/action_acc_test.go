package movevip_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

func TestAccMoveVIP(t *testing.T) {
	acctest.InSandbox(t)
	members := ""
	for i, address := range acctest.ServiceNodes(t, 3) {
		name := fmt.Sprintf("svc-%d", i+1)
		printed := acctest.On(t, name, "ssh-keygen", "-lf", "/etc/ssh/ssh_host_ed25519_key.pub")
		id := host.ShortenReferences("ssh://root@" + address + "?host_key=" + strings.Fields(printed)[1])
		members += fmt.Sprintf("    %s = { service_node = %q, interface = \"eth0\" }\n", name, id)
	}
	config := acctest.Provider() + "resource \"virtcluster_vip\" \"api\" {\n  name = \"api\"\n  addresses = [\"10.0.100.250/24\"]\n  members = {\n" + members + "  }\n}\n"
	for name, to := range map[string]string{"away": "", "third": `to = "svc-3"`, "nobody": `to = "svc-9"`} {
		config += fmt.Sprintf("action \"virtcluster_move_vip\" %q {\n  config {\n    name    = virtcluster_vip.api.name\n    members = virtcluster_vip.api.members\n    %s\n  }\n}\n", name, to)
	}
	s := acctest.NewStateWithActions(t)
	s.DestroyAtEnd()
	s.Apply(config)
	invoke := func(name string) []string {
		return []string{"apply", "-auto-approve", "-invoke=action.virtcluster_move_vip." + name}
	}
	holders := func() (names string) {
		for _, name := range []string{"svc-1", "svc-2", "svc-3"} {
			if strings.Contains(acctest.On(t, name, "ip", "address", "show", "eth0"), "10.0.100.250/") {
				names += name
			}
		}
		return names
	}
	if got := holders(); got != "svc-1" {
		t.Fatalf("%q holds the address at first", got)
	}
	s.Refused([]string{"No such member", `"svc-9"`}, invoke("nobody")...)
	for _, step := range []struct{ action, said, holds string }{
		{"away", "VIP api: svc-2 holds its addresses, which svc-1 handed over", "svc-2"},
		{"third", "VIP api: svc-3 holds its addresses, which svc-2 handed over", "svc-3"},
		{"third", "VIP api: svc-3 holds its addresses already", "svc-3"},
	} {
		t.Run(step.action, func(t *testing.T) {
			if out := s.For(t).Run(invoke(step.action)...); !strings.Contains(out, step.said) || holders() != step.holds {
				t.Errorf("%q holds the address:\n%s", holders(), out)
			}
		})
	}
	// Another state, which has a backend of its own, moves nothing of this one's.
	other := acctest.NewStateWithActions(t)
	other.Write(acctest.Provider() + "action \"virtcluster_move_vip\" \"theirs\" {\n  config {\n    name = \"api\"\n    members = {\n" + strings.ReplaceAll(members, `, interface = "eth0"`, "") + "    }\n  }\n}\n")
	other.Refused([]string{"only one of this state is moved"}, invoke("theirs")...)
	if got := holders(); got != "svc-3" {
		t.Errorf("%q holds the address at last", got)
	}
}
