package provision

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Contents are what makes a machine the service node that it is: who uses which of its services, and what was written into the configuration
// of those that serve by that alone. A machine that is made anew gets them from the one before it.
type Contents struct {
	users   map[string]User
	written map[string]transaction.Written
}

// TakeContents reads what a machine has as a service node.
func TakeContents(ctx context.Context, h host.Host, engine *transaction.Engine) (*Contents, error) {
	inv, err := takeInventory(ctx, h, false)
	if err != nil {
		return nil, err
	}
	c := &Contents{users: inv.Record.Users, written: map[string]transaction.Written{}}
	for _, name := range c.listServices() {
		if !Services[name].Portable {
			continue
		}
		w, err := engine.Written(ctx, h, Services[name].Daemon)
		if err != nil {
			return nil, err
		}
		if !w.IsEmpty() {
			c.written[name] = w
		}
	}
	return c, nil
}

// FindStopped lists the services of a machine that have something to serve, by what was written into their configuration, and do not: they do
// not run, or could not take a virtual address.
func FindStopped(ctx context.Context, h host.Host, engine *transaction.Engine) (stopped []string, err error) {
	c, err := TakeContents(ctx, h, engine)
	if err != nil {
		return nil, err
	}
	for _, name := range c.listServices() {
		if _, serves := c.written[name]; !serves {
			continue
		}
		running, err := engine.Running(ctx, h, Services[name].Daemon)
		if err != nil {
			return nil, err
		}
		switch {
		case !running:
			stopped = append(stopped, name)
		case name == "keepalived":
			unfit, err := findUnfit(ctx, h, c.written[name].Files)
			if err != nil {
				return nil, err
			}
			stopped = append(stopped, unfit...)
		}
	}
	return stopped, nil
}

// findUnfit lists the VIPs of the provider's that keepalived could not hold now: it has just started, or what they track fails.
func findUnfit(ctx context.Context, h host.Host, files transaction.Tree) (unfit []string, err error) {
	ours, _, err := keepalived.Instances(files)
	if err != nil || len(ours) == 0 {
		return nil, err
	}
	states, err := keepalived.Dump(ctx, h)
	if err != nil {
		return nil, err
	}
	for _, in := range ours {
		at := slices.IndexFunc(states, func(s keepalived.Status) bool { return s.Name == in.Name })
		if at < 0 || states[at].State != "BACKUP" && states[at].State != "MASTER" {
			unfit = append(unfit, "VIP "+in.Name)
		}
	}
	return unfit, nil
}

// listServices lists the services in the order in which they are to serve: virtual addresses come when all else does.
func (c *Contents) listServices() []string {
	var all []string
	for _, u := range c.users {
		all = append(all, u.Services...)
	}
	slices.SortFunc(all, func(a, b string) int {
		if (a == "keepalived") != (b == "keepalived") {
			return map[bool]int{true: 1, false: -1}[a == "keepalived"]
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(all)
}

// Put makes a machine the service node that another one was: it returns when all services serve what they served there. The warnings are daemons
// that did not start before they had their configuration.
func (c *Contents) Put(ctx context.Context, h host.Host, engine *transaction.Engine) (warnings []string, err error) {
	services := c.listServices()
	if len(services) == 0 {
		return nil, nil
	}
	warnings, err = provisionServices(ctx, h, services, Record{Users: c.users}.Installs(), func(r Record) { maps.Copy(r.Users, c.users) })
	if err != nil {
		return warnings, err
	}
	for _, name := range services {
		w, there := c.written[name]
		if !there {
			continue
		}
		edit := transaction.Edit{Owner: "what " + name + " had before the machine was made anew", Apply: w.Apply, Warn: func(text string) { warnings = append(warnings, text) }}
		if err := engine.Commit(ctx, h, Services[name].Daemon, edit); err != nil {
			return warnings, fmt.Errorf("have %s serve what it served before: %w", name, err)
		}
	}
	return warnings, nil
}
