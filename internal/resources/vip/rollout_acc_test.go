package vip_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const (
	planned = 200 * time.Millisecond
	restart = 250 * time.Millisecond // by hand, in no order
	crash   = 4 * time.Second        // four advertisements
)

var regexpCannotReach = regexp.MustCompile(`(?s)no machine was\s+changed.*10\.0\.100\.103`)

// change is one step of a VIP's life.
type change struct {
	name      string
	members   []int
	addresses string
	extra     string
	// priorities are 250, 240 and 230 by place, or these.
	priorities []int
	// watch are the addresses to look for from here on, where they change.
	watch []string
	// owner is who must hold the addresses in the end; 0 is anybody.
	owner int
	limit time.Duration
}

func (c change) config(ids []string, label string) string {
	var members strings.Builder
	for i, n := range c.members {
		priority := 250 - 10*i
		if len(c.priorities) > 0 {
			priority = c.priorities[i]
		}
		fmt.Fprintf(&members, "    svc-%d = { service_node = %q, interface = \"eth0\", priority = %d }\n", n, ids[n-1], priority)
	}
	return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_vip\" \"test\" {\n  name = %q\n  addresses = [%s]\n  members = {\n%s  }\n%s\n}\n", label, c.addresses, members.String(), c.extra)
}

func (c change) check(ids []string) resource.TestCheckFunc {
	if c.owner == 0 {
		return resource.TestCheckResourceAttrSet(test, "owner")
	}
	return resource.TestCheckResourceAttr(test, "owner", fmt.Sprintf("svc-%d", c.owner))
}

func TestAccNoChangeAndNoCrashLeavesTwoOwners(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 3)
	p := startProbe(t, "10.0.100.250", "svc-1", "svc-2", "svc-3")
	script := func(password string, weight int) string {
		return fmt.Sprintf("auth_pass = %q\n track = [{ name = \"check\", script = \"/usr/bin/true\", weight = %d }]", password, weight)
	}
	one, two := `"10.0.100.250/24"`, `"10.0.100.250/24", "10.0.100.251/24"`
	changes := []change{
		{name: "create", members: []int{1, 2}, addresses: one, extra: script("first", 5)},
		{name: "add member", members: []int{1, 2, 3}, addresses: one, extra: script("first", 5), limit: planned},
		{name: "change priority", members: []int{1, 2, 3}, addresses: one, priorities: []int{230, 250, 240}, extra: script("first", 5), limit: planned},
		{name: "change track script", members: []int{1, 2, 3}, addresses: one, priorities: []int{230, 250, 240}, extra: script("first", 10), limit: planned},
		{name: "add address", members: []int{1, 2, 3}, addresses: two, extra: script("first", 10), limit: planned},
		{name: "change address, one stays", members: []int{1, 2, 3}, addresses: `"10.0.100.251/24"`, extra: script("first", 10), watch: []string{"10.0.100.251"}, limit: planned},
		{name: "change address, none stays", members: []int{1, 2, 3}, addresses: one, extra: script("first", 10), watch: []string{"10.0.100.251", "10.0.100.250"}, limit: planned},
		{name: "change password", members: []int{1, 2, 3}, addresses: one, extra: script("second", 10), watch: []string{"10.0.100.250"}, limit: planned},
		{name: "change id, multicast", members: []int{1, 2, 3}, addresses: one, extra: "virtual_router_id = 77\n unicast = false", limit: planned},
		{name: "unicast again", members: []int{1, 2, 3}, addresses: one, extra: "preempt = false", owner: 1, limit: planned},
		{name: "remove owner", members: []int{2, 3}, addresses: one, owner: 2, limit: planned},
		{name: "add it again", members: []int{2, 3, 1}, addresses: one, owner: 2, limit: planned},
		{name: "remove backup", members: []int{2, 1}, addresses: one, owner: 2, limit: planned},
	}
	limits := map[string]time.Duration{}
	var steps []resource.TestStep
	for _, c := range changes {
		if c.limit > 0 {
			limits[c.name] = c.limit
		}
		steps = append(steps, resource.TestStep{
			PreConfig: func() {
				p.mark(c.name)
				if c.watch != nil {
					p.watch(c.watch...)
				}
			},
			Config: c.config(ids, "probe"),
			Check:  c.check(ids),
		})
	}
	last := changes[len(changes)-1]
	steps = append(steps, resource.TestStep{
		PreConfig: func() { p.mark("rename"); limits["rename"] = planned },
		Config:    last.config(ids, "renamed"),
		Check:     resource.TestCheckResourceAttr(test, "virtual_router_id", "77"),
	}, resource.TestStep{
		PreConfig: func() { crashes(t, p, limits) },
		Config:    last.config(ids, "renamed"), PlanOnly: true, ExpectNonEmptyPlan: false,
	})
	defer p.report(t, limits)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers, Steps: steps,
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2", "svc-3") },
	})
}

// crashes breaks the owner in every way there is but its machine's power. It is the one with the highest priority, so it
// takes the address back each time.
func crashes(t *testing.T, p *probe, limits map[string]time.Duration) {
	const owner, backup = "svc-2", "svc-1"
	for _, c := range []struct {
		name    string
		limit   time.Duration
		machine string
		do      string
	}{
		{"restart of the owner", restart, owner, "systemctl restart keepalived"},
		{"restart of a backup", restart, backup, "systemctl restart keepalived"},
		{"kill -9 of the owner's keepalived", crash, owner, "kill -9 $(pgrep -x keepalived)"},
		{"kill -9 of its main process", crash, owner, "kill -9 $(systemctl show --property=MainPID --value keepalived)"},
		{"kill -9 of its VRRP process", crash, owner, "kill -9 $(pgrep -P $(systemctl show --property=MainPID --value keepalived))"},
	} {
		p.mark(c.name)
		limits[c.name] = c.limit
		acctest.On(t, c.machine, "sh", "-c", c.do)
		if c.machine == backup {
			time.Sleep(crash) // in which a backup that hears nobody would have taken the address
		}
		acctest.Eventually(t, "the address does not come back after "+c.name, func() bool { return p.settled(owner, c.machine == owner) })
	}
	p.mark("settled")
}

func TestAccAnotherMemberTakesOverFromADeadMachine(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 3)
	p := startProbe(t, "10.0.100.250", "svc-1", "svc-2", "svc-3")
	config := func(members []int, extra string) string {
		text := change{members: members, addresses: `"10.0.100.250/24"`, extra: extra}.config(ids, "probe")
		return strings.Replace(text, "ssh = {", "ssh = {\n connect_timeout = \"2s\",", 1)
	}
	const seen = "data.virtcluster_vip_status.seen"
	limits := map[string]time.Duration{"power-off": crash, "remove the dead one": planned}
	defer p.report(t, limits)
	var heard warnings
	var before string
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: heard.providers(),
		Steps: []resource.TestStep{
			{Config: config([]int{3, 2, 1}, ""), Check: resource.TestCheckResourceAttr(test, "owner", "svc-3")},
			{
				PreConfig: func() {
					p.mark("power-off")
					p.kill("svc-3")
					powerOff(t, "svc-3")
					acctest.Eventually(t, "nobody takes over", func() bool { return p.settled("svc-2", false) })
					before = untouched(t)
					p.mark("a change with a dead member")
				},
				Config:      config([]int{3, 2, 1}, "virtual_router_id = 9"),
				ExpectError: regexpCannotReach,
			},
			{
				PreConfig: func() {
					if after := untouched(t); after != before {
						t.Errorf("a change that failed touched the members that it could reach:\n%s\nbefore:\n%s", after, before)
					}
					p.mark("remove the dead one")
				},
				// As an import names it, so that the status tells of the dead one too.
				Config: config([]int{2, 1}, "") + fmt.Sprintf("data \"virtcluster_vip_status\" \"seen\" {\n vip = %q\n}\n", strings.Join([]string{ids[2], ids[1], ids[0]}, ",")+"#probe"),
				Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(test, "owner", "svc-2"),
					resource.TestCheckResourceAttr(seen, "owner", "10.0.100.102"),
					resource.TestCheckResourceAttr(seen, "members.0.reachable", "false"),
					resource.TestMatchResourceAttr(seen, "members.0.error", regexp.MustCompile(`10\.0\.100\.103`)),
					resource.TestCheckResourceAttr(seen, "members.1.state", "MASTER"),
					resource.TestCheckResourceAttr(seen, "members.2.state", "BACKUP"),
					func(*terraform.State) error {
						p.mark("destroy")
						return heard.has("A removed member of VIP probe cannot be reached", "10.0.100.103")
					}),
			},
		},
	})
}

// untouched is what every change of a machine would change: the file, which is replaced and never written, and the
// process that serves it.
func untouched(t *testing.T) string {
	var all []string
	for _, machine := range []string{"svc-1", "svc-2"} {
		all = append(all, acctest.On(t, machine, "sh", "-c", "stat -c %i "+conf+"; sha256sum "+conf+"; systemctl show --property=MainPID keepalived"))
	}
	return strings.Join(all, "\n")
}

// powerOff takes a machine's power: its processes and its link are gone at once.
func powerOff(t *testing.T, name string) {
	t.Helper()
	pid, err := os.ReadFile(os.Getenv("SANDBOX_STATE") + "/nodes/" + name + "/pid")
	if err != nil {
		t.Fatal(err)
	}
	acctest.On(t, "hypervisor", "ip", "-n", name, "link", "set", "eth0", "down")
	acctest.On(t, "hypervisor", "kill", "-9", strings.TrimSpace(string(pid)))
	t.Cleanup(func() { // others want the machine as it was
		if err := os.WriteFile(os.Getenv("SANDBOX_STATE")+"/nodes/"+name+"/on", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		acctest.Eventually(t, name+" does not come back", func() bool {
			out, _ := acctest.Try(context.Background(), name, "systemctl", "is-active", "multi-user.target")
			return strings.TrimSpace(out) == "active"
		})
		clean(t, name)
		const script = "rm -rf /var/lib/virtcluster /etc/systemd/system/keepalived.service.d; systemctl disable --quiet keepalived; systemctl daemon-reload"
		if out, err := acctest.Try(context.Background(), name, "sh", "-c", script); err != nil {
			t.Errorf("clean %s: %v: %s", name, err, out)
		}
	})
}
