package resolver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const name = "virtcluster_resolver.test"

func config(node, extra string) string {
	return fmt.Sprintf("%s\nresource \"virtcluster_resolver\" \"test\" {\n  host = \"ssh://root@%s\"\n  %s\n}\n", acctest.Provider(), node, extra)
}

// answers starts a name server on the hypervisor that knows one name, and nothing else, until the test ends.
func answers(t *testing.T, at, name, address string) {
	t.Helper()
	server := exec.Command("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces", "--except-interface=lo", "--pid-file=", "--listen-address="+at, "--port=53", "--host-record="+name+","+address)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
}

// The ways in which a machine may resolve names: a script that sets each up, and one that undoes it.
var ways = map[string][2]string{
	"resolv.conf": {`printf '# mine\nnameserver 10.0.100.254\noptions timeout:1\n' >/etc/resolv.conf; chmod 664 /etc/resolv.conf; chgrp adm /etc/resolv.conf`, `: >/etc/resolv.conf; chmod 644 /etc/resolv.conf; chgrp root /etc/resolv.conf`},
	"systemd-resolved": {
		`mkdir /etc/systemd/network/10-eth0.network.d; printf '[Network]\nDNS=10.0.100.254\n' >/etc/systemd/network/10-eth0.network.d/dns.conf; networkctl reload; networkctl reconfigure eth0
systemctl start systemd-resolved; ln -sf /run/systemd/resolve/stub-resolv.conf /etc/resolv.conf`,
		`rm /etc/resolv.conf; : >/etc/resolv.conf; systemctl stop systemd-resolved; rm -r /etc/systemd/network/10-eth0.network.d; networkctl reload; networkctl reconfigure eth0`,
	},
	"networkmanager": {
		`printf '[main]\nrc-manager=file\n' >/etc/NetworkManager/conf.d/rc.conf; systemctl restart NetworkManager
nmcli connection modify lan ipv4.dns 10.0.100.254; nmcli connection up lan >/dev/null; timeout 20 sh -c 'until grep -q 10.0.100.254 /etc/resolv.conf; do sleep 0.1; done'`,
		`systemctl stop NetworkManager; rm /etc/NetworkManager/conf.d/rc.conf; : >/etc/resolv.conf`,
	},
}

func TestAccResolverOfEachKind(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	answers(t, "10.19.41.10", "api.resolver.example", "10.0.0.7")
	answers(t, "10.0.100.254", "other.example", "10.0.0.8")
	asks := func(name, want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			got, _ := acctest.Try(t.Context(), "svc-1", "getent", "ahostsv4", name)
			if want == "" && got != "" || !strings.HasPrefix(got, want) {
				return fmt.Errorf("%s is %q, want %q:\n%s", name, got, want, acctest.On(t, "svc-1", "sh", "-c", "resolvectl status; resolvectl query "+name+"; cat /etc/systemd/resolved.conf.d/*; :"))
			}
			return nil
		}
	}
	const look = `readlink -f /etc/resolv.conf; stat -L -c '%a %U %G' /etc/resolv.conf; sed '/^# Generated/d' /etc/resolv.conf; find /etc/systemd/resolved.conf.d /etc/NetworkManager/conf.d /etc/NetworkManager/dnsmasq.d 2>/dev/null; find /var/lib/virtcluster -type f 2>/dev/null || :`
	for _, backend := range []string{"resolv.conf", "systemd-resolved", "networkmanager"} {
		t.Run(backend, func(t *testing.T) {
			if backend == "networkmanager" {
				acctest.LeaveToManager(t, "svc-1", backend)
			}
			acctest.On(t, "svc-1", "sh", "-c", ways[backend][0])
			t.Cleanup(func() {
				if out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", ways[backend][1]); err != nil {
					t.Error(out)
				}
			})
			before := acctest.On(t, "svc-1", "sh", "-c", look)
			cluster := config(node, `nameservers = ["10.19.41.10"]`+"\n  search = [\"resolver.example\"]")
			split := config(node, `nameservers = ["10.19.41.10"]`+"\n  domains = [\"resolver.example\"]")
			steps := []resource.TestStep{
				{Config: cluster, Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(name, "active_backend", backend), asks("api.resolver.example", "10.0.0.7"), asks("api", "10.0.0.7"))},
				{ResourceName: name, ImportState: true, ImportStateVerify: true},
				{
					Config:           config(node, `nameservers = ["10.19.41.10", "10.0.100.254"]`),
					ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(name, plancheck.ResourceActionUpdate)}},
					Check:            asks("api.resolver.example", "10.0.0.7"),
				},
			}
			switch backend {
			case "systemd-resolved":
				steps = append(steps, resource.TestStep{Config: split, Check: resource.ComposeTestCheckFunc(asks("api.resolver.example", "10.0.0.7"), asks("other.example", "10.0.0.8"))},
					resource.TestStep{PreConfig: func() { // as often as systemd starts a unit within ten seconds
						acctest.On(t, "svc-1", "sh", "-ec", "rm -r /etc/systemd/resolved.conf.d; systemctl reset-failed systemd-resolved; for n in 1 2 3 4 5; do systemctl restart systemd-resolved; done")
					}, Config: split, Check: asks("api.resolver.example", "10.0.0.7")})
			case "resolv.conf":
				steps = append(steps, resource.TestStep{Config: split, PlanOnly: true, ExpectError: regexp.MustCompile(`knows\s+no\s+domains`)},
					resource.TestStep{Config: config(node, `nameservers = ["10.19.41.10"]`+"\nbackend = \"systemd-resolved\""), PlanOnly: true, ExpectError: regexp.MustCompile(`systemd-resolved\s+does\s+not\s+run`)})
			default:
				steps = append(steps, resource.TestStep{Config: split, PlanOnly: true, ExpectError: regexp.MustCompile(`dns=dnsmasq`)})
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Providers,
				CheckDestroy: func(*terraform.State) error {
					if after := acctest.On(t, "svc-1", "sh", "-c", look); after != before {
						return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
					}
					return asks("other.example", "10.0.0.8")(nil)
				},
				Steps: steps,
			})
		})
	}
}

// A client that writes /etc/resolv.conf at each renewal leaves it alone while it is configured here, and writes it again afterwards.
func TestAccResolverStaysWhileDhclientRenews(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	log := acctest.ServeDHCP(t, "--dhcp-option=option:dns-server,10.19.41.99")
	acctest.LeaveToManager(t, "svc-1", "ifupdown")
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "svc-1", "sh", "-c", ": >/etc/resolv.conf") })
	acctest.On(t, "svc-1", "sh", "-c", `ifdown eth1 2>/dev/null; ip addr flush dev eth1
printf 'auto eth1\niface eth1 inet dhcp\n' >/etc/network/interfaces.d/lan; ifup eth1 >/dev/null 2>&1`)
	now := func() string {
		return acctest.On(t, "svc-1", "sh", "-c", "cat /etc/resolv.conf; ls /etc/dhcp/dhclient-enter-hooks.d")
	}
	acctest.Eventually(t, "dhclient wrote /etc/resolv.conf", func() bool { return strings.Contains(now(), "nameserver 10.19.41.99") })
	renewed := func() {
		acks := func() int {
			text, _ := os.ReadFile(log)
			return strings.Count(string(text), "DHCPACK(eno1) ")
		}
		before := acks()
		acctest.Eventually(t, "the lease is renewed twice", func() bool { return acks() >= before+2 })
	}
	is := func() error {
		if got := now(); !strings.Contains(got, "\nnameserver 10.19.41.10\n") || strings.Contains(got, "\nnameserver 10.19.41.99\n") || !strings.Contains(got, "virtcluster-resolver") {
			return fmt.Errorf("it is\n%s", got)
		}
		return nil
	}
	stays := func(*terraform.State) error { renewed(); return is() }
	configured := config(node, `nameservers = ["10.19.41.10"]`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if got := now(); strings.Contains(got, "virtcluster") || !strings.Contains(got, "nameserver 10.19.41.99") {
				return fmt.Errorf("left:\n%s", got)
			}
			acctest.On(t, "svc-1", "sh", "-c", ": >/etc/resolv.conf")
			acctest.Eventually(t, "dhclient writes /etc/resolv.conf again", func() bool { return strings.Contains(now(), "nameserver 10.19.41.99") })
			return nil
		},
		Steps: []resource.TestStep{
			{Config: configured, Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(name, "active_backend", "resolv.conf"), stays)},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{Config: configured, PlanOnly: true},
			{
				PreConfig:        func() { acctest.On(t, "svc-1", "rm", "/etc/dhcp/dhclient-enter-hooks.d/virtcluster-resolver") },
				Config:           configured,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(name, plancheck.ResourceActionUpdate)}},
				Check:            func(*terraform.State) error { return is() },
			},
			{
				PreConfig:        func() { acctest.On(t, "svc-1", "sh", "-c", "echo 'nameserver 10.19.41.99' >/etc/resolv.conf") },
				Config:           configured,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(name, plancheck.ResourceActionUpdate)}},
				Check:            func(*terraform.State) error { return is() },
			},
		},
	})
}
