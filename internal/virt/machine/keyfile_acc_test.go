package machine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// TestAccNetworkManagerTakesTheKeyfilesOfIgnition gives a real NetworkManager the files that an Ignition configuration carries,
// and looks at the interface that they are for.
func TestAccNetworkManagerTakesTheKeyfilesOfIgnition(t *testing.T) {
	acctest.InSandbox(t)
	files := machine.KeyfilesOf(&machine.Spec{Ignition: "{}", Interfaces: []machine.InterfaceSpec{{
		Name: "ens3", MAC: "52:54:00:00:00:77", Addresses: machine.Prefixes("192.0.2.157/24", "2001:db8::157/64"), Gateway: machine.Address("192.0.2.254"),
		Routes: []machine.Route{{CIDR: machine.Prefixes("10.128.0.0/14")[0], Via: machine.Address("192.0.2.1")}}, Nameservers: machine.Addresses("192.0.2.53", "2001:db8::53"), MTU: 1400,
	}}})
	if len(files) != 1 {
		t.Fatalf("files: %q", files)
	}
	t.Cleanup(func() {
		out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", "systemctl stop NetworkManager; ip link delete nmtest0; rm -f /etc/NetworkManager/system-connections/ens3.nmconnection")
		if err != nil {
			t.Error(err, out)
		}
	})
	for path, content := range files {
		acctest.On(t, "svc-1", "sh", "-c", `umask 077; printf %s "$2" >"$1"`, "sh", path, content)
	}
	acctest.On(t, "svc-1", "sh", "-c", `set -e
ip link add nmtest0 address 52:54:00:00:00:77 type veth peer name nmpeer0
ip link set nmpeer0 up
systemctl start NetworkManager
nmcli device set nmtest0 managed yes`)
	acctest.Eventually(t, "for the address", func() bool {
		out, err := acctest.Try(t.Context(), "svc-1", "ip", "-br", "address", "show", "dev", "nmtest0")
		return err == nil && strings.Contains(out, "192.0.2.157/24") && strings.Contains(out, "2001:db8::157/64")
	})
	for _, c := range []struct{ want, command string }{
		{"default via 192.0.2.254", "ip route show dev nmtest0"},
		{"10.128.0.0/14 via 192.0.2.1", "ip route show dev nmtest0"},
		{"mtu 1400", "ip link show nmtest0"},
		{"192.0.2.53", "nmcli -g IP4.DNS device show nmtest0"},
		{"2001", "nmcli -g IP6.DNS device show nmtest0"},
		{"ens3", "nmcli -g GENERAL.CONNECTION device show nmtest0"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if out := acctest.On(t, "svc-1", "sh", "-c", c.command); !strings.Contains(out, c.want) {
				t.Errorf("%s has no %q: %s", c.command, c.want, out)
			}
		})
	}
}
