package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/readiness"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// member is a machine of a group, as its hypervisor has it.
type member struct {
	name string
	at   *hypervisor.Client
	// uuid is that of the machine's domain, "" where it is not there, and place that of the domain which keeps its place while it is made
	// anew, "" for none.
	uuid, place string
	// settings are nil where the machine is not there.
	settings  *machine.Rollout
	running   bool
	ticket    *ticket
	workspace string
}

// uniqueName tells the member from all others of one look at the group.
func (m *member) uniqueName() string { return m.at.URI() + " " + m.name }

// hasMoved says whether the member is nothing but the place of a machine that is a member elsewhere.
func (m *member) hasMoved(all []*member) bool {
	return m.uuid == "" && m.ticket != nil && m.ticket.Machine != "" && slices.ContainsFunc(all, func(other *member) bool { return other.uuid == m.ticket.Machine })
}

// hasTurn says whether a turn is the member's.
func (m *member) hasTurn(t *turn) bool { return m.ticket != nil && m.ticket.ID == t.ticket.ID }

// board is where the members of groups are seen, and where their tickets are.
type board interface {
	// listMembers lists the members of a group, on all hypervisors. One that cannot be asked is an error: who is down there nobody knows.
	listMembers(ctx context.Context, group string) ([]*member, error)
	// listMembersAt lists those that one hypervisor has.
	listMembersAt(ctx context.Context, at *hypervisor.Client, group string) ([]*member, error)
	// writeTicket writes a ticket to a domain.
	writeTicket(ctx context.Context, at *hypervisor.Client, uuid string, k *ticket) error
	// removeMarks takes the ticket away from a machine's own domain, and removes that which keeps its place; "" for none. One that is gone is
	// no error.
	removeMarks(ctx context.Context, at *hypervisor.Client, own, place string) error
	// askMember returns why a machine is down; nil where it serves.
	askMember(ctx context.Context, m *member) error
}

// machines is the board of the real hypervisors.
type machines struct {
	all    []*hypervisor.Client
	host   hostFinder
	engine *transaction.Engine
}

func (b machines) listMembers(ctx context.Context, group string) ([]*member, error) {
	found, seen := map[string]*member{}, map[string]bool{}
	// A hypervisor may have two names: all that it has is found by one of them.
	for _, c := range slices.SortedFunc(slices.Values(b.all), compareURIs) {
		domains, err := c.Domains(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for the members of group %q on %s: %w", group, c.URI(), err)
		}
		for _, d := range domains {
			if !seen[d.UUID] {
				seen[d.UUID] = true
				if err := addDomain(found, c, d, group); err != nil {
					return nil, err
				}
			}
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

func (b machines) listMembersAt(ctx context.Context, at *hypervisor.Client, group string) ([]*member, error) {
	return machines{all: []*hypervisor.Client{at}}.listMembers(ctx, group)
}

func compareURIs(a, b *hypervisor.Client) int { return strings.Compare(a.URI(), b.URI()) }

// addDomain adds what a domain says of a group to the members that were found so far.
func addDomain(found map[string]*member, c *hypervisor.Client, d *hypervisor.Domain, group string) error {
	k, err := readTicket(d)
	if err != nil {
		return err
	}
	known := func(name string) *member {
		m := &member{name: name, at: c}
		if there, ok := found[m.uniqueName()]; ok {
			return there
		}
		found[m.uniqueName()] = m
		return m
	}
	if k != nil && k.Member != "" { // it keeps the place of a machine
		if k.Group == group {
			m := known(k.Member)
			m.place, m.ticket, m.workspace = d.UUID, k, k.Workspace
		}
		return nil
	}
	mark := machine.Read(d.Config).Mark
	var settings *machine.Rollout
	switch {
	case mark.IsPresent() && mark.Settings != nil:
		if settings = mark.Settings.Rollout; settings == nil || settings.Group != group {
			return nil
		}
	case k == nil || k.Group != group: // one that was imported has no settings, and its turn alone says of which group it is
		return nil
	}
	m := known(d.Name)
	m.uuid, m.settings, m.running = d.UUID, settings, d.State == "running"
	if m.place == "" {
		m.workspace, m.ticket = mark.Workspace, k
	}
	return nil
}

func (b machines) writeTicket(ctx context.Context, at *hypervisor.Client, uuid string, k *ticket) error {
	text, err := k.renderTicket()
	if err != nil {
		return err
	}
	return at.SetDomainMetadata(ctx, uuid, prefix, metadata.Turn, text, true)
}

func (b machines) removeMarks(ctx context.Context, at *hypervisor.Client, own, place string) (err error) {
	if own != "" {
		err = at.RemoveDomainMetadata(ctx, own, metadata.Turn)
	}
	if place != "" {
		err = errors.Join(err, at.UndefineDomain(ctx, place))
	}
	return err
}

// errStopped is why a machine is down that does not run.
var errStopped = errors.New("it does not run")

func (b machines) askMember(ctx context.Context, m *member) error {
	switch {
	case m.uuid == "":
		return fmt.Errorf("it was to be made anew, and has not been: an apply without -target makes it; where it is gone for good, virsh undefine %q", placeName(m.name))
	case !m.running:
		return errStopped
	case m.settings == nil:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if r := m.settings.Ready; r != nil {
		asker, c, err := b.findCondition(ctx, r)
		if err == nil {
			_, err = asker.Ask(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	if n := m.settings.ServiceNode; n != nil {
		return askServices(ctx, b.host, b.engine, n)
	}
	return nil
}

// findCondition returns what a machine is to answer to be ready, and who asks.
func (b machines) findCondition(ctx context.Context, r *machine.TurnReady) (readiness.Asker, readiness.Condition, error) {
	c := readiness.Condition{URL: r.URL, TCP: r.TCP, DNS: r.DNS, Interval: r.Pause(), Timeout: r.Limit()}
	if len(r.Command) == 0 {
		return readiness.Here{}, c, nil
	}
	h, err := b.host(ctx, r.Endpoint)
	return commandAsker{h, r.Command}, c, err
}

// commandAsker says that what is asked is ready where a command succeeds.
type commandAsker struct {
	on      host.Host
	command []string
}

// Ask implements readiness.Asker.
func (a commandAsker) Ask(ctx context.Context, _ readiness.Condition) (string, error) {
	out, err := a.on.Run(ctx, host.Cmd{Argv: a.command, Repeatable: true})
	return string(out), err
}

// askAll asks members at one time, and returns those that are down, with the reasons.
func askAll(ctx context.Context, b board, all []*member) map[*member]error {
	reasons := make([]error, len(all))
	var group errgroup.Group
	for i, m := range all {
		group.Go(func() error {
			reasons[i] = b.askMember(ctx, m)
			return nil
		})
	}
	_ = group.Wait()
	down := map[*member]error{}
	for i, m := range all {
		if reasons[i] != nil {
			down[m] = reasons[i]
		}
	}
	return down
}
