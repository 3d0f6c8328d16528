package netinterface_test

import (
	"context"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// What a person gave to another device stays, although systemd-networkd takes it away where that device's file was edited and not loaded: it
// reads all files at once, for a change of an interface of this provider's too. A rule of routing it takes whatever device it configures anew.
func TestAccWhatAPersonGaveOtherDevicesOutlivesAReloadOfNetworkd(t *testing.T) {
	acctest.InSandbox(t)
	machine := acctest.TakeMachine(t)
	acctest.LeaveToManager(t, machine, "systemd-networkd")
	on := func(script string) string { return acctest.On(t, machine, "sh", "-ec", script) }
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), machine, "sh", "-c", "ip link del accother0; ip rule del pref 5210; rm -f /etc/systemd/network/50-accother0.*; networkctl reload"); err != nil {
			t.Error(out)
		}
	})
	const file = "/etc/systemd/network/50-accother0.network"
	on(`printf '[NetDev]\nName=accother0\nKind=bridge\n' >/etc/systemd/network/50-accother0.netdev
printf '[Match]\nName=accother0\n[Network]\nConfigureWithoutCarrier=yes\nAddress=10.66.0.1/24\n' >` + file + `
networkctl reload
n=0; until ip -o address show dev accother0 2>/dev/null | grep -q 10.66.0.1; do n=$((n + 1)); [ $n -lt 100 ]; sleep 0.1; done
ip address add 10.66.0.77/24 dev accother0
ip address add 10.67.0.1 peer 10.67.0.2/32 dev accother0
ip neigh add 10.66.0.8 lladdr 02:00:0a:42:00:08 nud permanent dev accother0
ip route add 10.68.0.0/16 via 10.66.0.8 dev accother0
ip route add 10.69.0.0/16 via 10.66.0.8 dev accother0 table 77 metric 5
ip rule add pref 5210 fwmark 0x80000/0xff0000 lookup 77`)
	look := func() string {
		return on("ip -o address show dev accother0; ip neigh show nud permanent dev accother0; ip route show table all dev accother0 | sort; ip rule show")
	}
	edit := func(what string) { on("echo '# " + what + "' >>" + file) }
	before := look()
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Write(config(acctest.Address(machine), `addresses = ["`+acctest.OnLAN(machine, 191)+`/24"]`))
	s.Run("import", name, acctest.Endpoint(machine)+"#eth1")
	for _, step := range []string{"apply", "destroy"} {
		t.Run(step, func(t *testing.T) {
			edit("by a person, who has not loaded it yet, before the " + step)
			s.Run(step, "-auto-approve")
			if after := look(); after != before {
				t.Errorf("after the %s:\n%s\nbefore:\n%s", step, after, before)
			}
		})
	}
}

// What a person gave to an interface while this provider configured it stays there when that changes, and when the interface is given back.
func TestAccWhatAPersonGaveAnInterfaceStays(t *testing.T) {
	acctest.InSandbox(t)
	for _, backend := range []string{"systemd-networkd", "networkmanager", "ifupdown", "netplan"} {
		t.Run(backend, func(t *testing.T) {
			machine := acctest.TakeMachine(t)
			acctest.LeaveToManager(t, machine, backend)
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			s.Write(config(acctest.Address(machine), `addresses = ["`+acctest.OnLAN(machine, 191)+`/24"]`))
			s.Run("import", name, acctest.Endpoint(machine)+"#eth1")
			s.Run("apply", "-auto-approve")
			acctest.On(t, machine, "sh", "-ec", "ip address add 10.66.0.77/24 dev eth1; ip route add 10.68.0.0/16 via 10.66.0.8 dev eth1")
			s.Settled()
			has := func(when string, stays, gone int) {
				t.Helper()
				now := acctest.On(t, machine, "sh", "-c", "ip -o address show dev eth1; ip route show dev eth1")
				for _, want := range []string{" 10.66.0.77/24 ", "10.68.0.0/16 via 10.66.0.8", " " + acctest.OnLAN(machine, stays) + "/24 "} {
					if !strings.Contains(now, want) {
						t.Errorf("eth1 has no %s any more after the %s:\n%s", want, when, now)
					}
				}
				if strings.Contains(now, acctest.OnLAN(machine, gone)) {
					t.Errorf("eth1 has its address still after the %s:\n%s", when, now)
				}
			}
			s.Write(config(acctest.Address(machine), `addresses = ["`+acctest.OnLAN(machine, 195)+`/24"]`))
			s.Run("apply", "-auto-approve")
			has("change", 195, 191)
			s.Run("destroy", "-auto-approve")
			has("destroy", 101, 195)
		})
	}
}
