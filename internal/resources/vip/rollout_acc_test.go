package vip_test

import (
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
	crash   = 4 * time.Second // four advertisements
)

var regexpCannotReach = regexp.MustCompile(`(?s)no machine was\s+changed.*10\.0\.100\.103`)

// change is one step of a VIP's life.
type change struct {
	name      string
	members   []int
	addresses string
	extra     string
	// priorities override the defaults, by place.
	priorities []int
	// watch are the addresses to look for from here on, where they change.
	watch []string
	limit time.Duration
}

func (c change) config(ids []string, label string) string {
	var members strings.Builder
	for i, n := range c.members {
		priority := ""
		if len(c.priorities) > 0 {
			priority = fmt.Sprintf(", priority = %d", c.priorities[i])
		}
		fmt.Fprintf(&members, "    { service_node = %q, interface = \"eth0\"%s },\n", ids[n-1], priority)
	}
	return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_vip\" \"test\" {\n  name = %q\n  addresses = [%s]\n  members = [\n%s  ]\n%s\n}\n", label, c.addresses, members.String(), c.extra)
}

func TestAccNoChangeAndNoCrashLeavesTwoOwners(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 3)
	p := startProbe(t, "10.0.100.250", "svc-1", "svc-2", "svc-3")
	script := func(weight int) string {
		return fmt.Sprintf(`track = [{ name = "check", script = "/bin/true", weight = %d }]`, weight)
	}
	one, two := `"10.0.100.250/24"`, `"10.0.100.250/24", "10.0.100.251/24"`
	changes := []change{
		{name: "create", members: []int{1, 2}, addresses: one},
		{name: "add member", members: []int{1, 2, 3}, addresses: one, limit: planned},
		{name: "change priority", members: []int{1, 2, 3}, addresses: one, priorities: []int{230, 250, 240}, limit: planned},
		{name: "add track script", members: []int{1, 2, 3}, addresses: one, priorities: []int{230, 240, 220}, extra: script(5), limit: planned},
		{name: "change track script", members: []int{1, 2, 3}, addresses: one, priorities: []int{230, 240, 220}, extra: script(10), limit: planned},
		{name: "add address", members: []int{1, 2, 3}, addresses: two, extra: script(10), limit: planned},
		{name: "take one of two away", members: []int{1, 2, 3}, addresses: `"10.0.100.251/24"`, extra: script(10), watch: []string{"10.0.100.251"}, limit: planned},
		{name: "change address", members: []int{1, 2, 3}, addresses: one, extra: script(10), watch: []string{"10.0.100.251", "10.0.100.250"}, limit: planned},
		{name: "set password", members: []int{1, 2, 3}, addresses: one, extra: "auth_pass = \"first\"\n" + script(10), watch: []string{"10.0.100.250"}, limit: planned},
		{name: "change password", members: []int{1, 2, 3}, addresses: one, extra: "auth_pass = \"second\"\n" + script(10), limit: planned},
		{name: "change id", members: []int{1, 2, 3}, addresses: one, extra: "virtual_router_id = 77", limit: planned},
		{name: "multicast", members: []int{1, 2, 3}, addresses: one, extra: "unicast = false", limit: planned},
		{name: "unicast again", members: []int{1, 2, 3}, addresses: one, extra: "preempt = false", limit: planned},
		{name: "remove owner", members: []int{1, 3}, addresses: one, limit: planned},
		{name: "add it again", members: []int{1, 3, 2}, addresses: one, limit: planned},
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
			Check:  resource.TestCheckResourceAttrSet(test, "owner"),
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

// crashes breaks the owner in every way there is; the last one is dead afterwards, so the resource is
// destroyed without it.
func crashes(t *testing.T, p *probe, limits map[string]time.Duration) {
	settle := func() string { time.Sleep(6 * time.Second); return p.owner() }
	for _, c := range []struct {
		name  string
		limit time.Duration
		do    func(owner string)
	}{
		{"restart of the owner", planned, func(o string) { acctest.On(t, o, "systemctl", "restart", "keepalived") }},
		{"restart of a backup", planned, func(o string) { acctest.On(t, other(o), "systemctl", "restart", "keepalived") }},
		{"kill -9 of the owner's keepalived", crash, func(o string) { acctest.On(t, o, "sh", "-c", "kill -9 $(pgrep -x keepalived)") }},
		{"kill -9 of its main process", crash, func(o string) {
			acctest.On(t, o, "sh", "-c", "kill -9 $(systemctl show --property=MainPID --value keepalived)")
		}},
		{"kill -9 of its VRRP process", crash, func(o string) {
			acctest.On(t, o, "sh", "-c", "kill -9 $(pgrep -P $(systemctl show --property=MainPID --value keepalived))")
		}},
	} {
		owner := settle()
		p.mark(c.name)
		limits[c.name] = c.limit
		c.do(owner)
	}
	settle()
	p.mark("settled")
}

func other(name string) string {
	if name == "svc-1" {
		return "svc-3"
	}
	return "svc-1"
}

// owner is the machine that was last seen with the address.
func (p *probe) owner() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.phases[len(p.phases)-1]
	return f.owners[len(f.owners)-1]
}

func TestAccAnotherMemberTakesOverFromADeadMachine(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 3)
	p := startProbe(t, "10.0.100.250", "svc-1", "svc-2", "svc-3")
	all := change{members: []int{3, 2, 1}, addresses: `"10.0.100.250/24"`}
	left := change{members: []int{2, 1}, addresses: `"10.0.100.250/24"`}
	limits := map[string]time.Duration{"power-off": crash, "remove the dead one": planned}
	defer p.report(t, limits)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: all.config(ids, "probe"), Check: resource.TestCheckResourceAttr(test, "owner", ids[2])},
			{
				PreConfig: func() {
					p.mark("power-off")
					p.kill("svc-3")
					powerOff(t, "svc-3")
					time.Sleep(6 * time.Second)
					p.mark("a change with a dead member")
				},
				Config:      change{members: []int{3, 2, 1}, addresses: `"10.0.100.250/24"`, extra: "virtual_router_id = 9"}.config(ids, "probe"),
				ExpectError: regexpCannotReach,
			},
			{
				PreConfig: func() { p.mark("remove the dead one") },
				Config:    left.config(ids, "probe"),
				Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(test, "owner", ids[1]), func(*terraform.State) error {
					p.mark("destroy")
					return nil
				}),
			},
		},
	})
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
}
