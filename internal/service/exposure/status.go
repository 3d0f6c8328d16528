package exposure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Status is an exposure as it is served.
type Status struct {
	Exposure
	Owner owner.Mark
	// Connections are those that came to each port since the rules, or HAProxy's process, were read last; of a floating address with
	// all ports the only entry has no name.
	Connections map[string]int64
}

// ReadStatus returns all that a machine exposes, whoever did, in the order of the names. live says that the rules and the addresses
// are there.
func ReadStatus(ctx context.Context, h host.Host, e *transaction.Engine) (all []Status, live bool, err error) {
	tree, err := e.Snapshot(ctx, h, Daemon{})
	if err != nil {
		return nil, false, err
	}
	if live, err = e.Running(ctx, h, Daemon{}); err != nil {
		return nil, false, err
	}
	entries, err := readAll(tree)
	if err != nil || len(entries) == 0 {
		return nil, live, err
	}
	counted, err := readCounters(ctx, h)
	if err != nil {
		return nil, live, err
	}
	if slices.ContainsFunc(entries, func(e entry) bool { return len(e.Balanced()) > 0 }) {
		if err := addSessions(ctx, h, e, entries, counted); err != nil {
			return nil, live, err
		}
	}
	for _, e := range entries {
		s := Status{Exposure: e.Exposure, Owner: owner.Parse(e.Owner), Connections: map[string]int64{}}
		for _, port := range portNames(e.Exposure) {
			s.Connections[port] = counted[ruleName(e.Name, port)]
		}
		all = append(all, s)
	}
	return all, live, nil
}

// portNames are those of an exposure's ports; "" stands for all of a floating address.
func portNames(e Exposure) []string {
	if len(e.Ports) == 0 {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(e.Ports))
}

// ruleName is the comment of the rule that translates a port.
func ruleName(name, port string) string {
	if port == "" {
		return name
	}
	return name + "/" + port
}

// readCounters returns how many connections each rule translated, from outside and from the machine itself, by the rule's comment.
func readCounters(ctx context.Context, h host.Host) (map[string]int64, error) {
	counted := map[string]int64{}
	out, err := h.Run(ctx, host.RepeatableScript("nft list table", "nft --json list table "+table+" 2>/dev/null || echo '{}'"))
	if err != nil {
		return nil, err
	}
	return counted, addCounters(counted, out)
}

// addCounters adds what a listing in JSON (libnftables-json(5)) says of rules with a comment and a counter.
func addCounters(counted map[string]int64, listing []byte) error {
	var list struct {
		Nftables []struct {
			Rule *struct {
				Comment string                       `json:"comment"`
				Expr    []map[string]json.RawMessage `json:"expr"`
			} `json:"rule"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal(listing, &list); err != nil {
		return fmt.Errorf("read the rules of nftables: %w", err)
	}
	for _, object := range list.Nftables {
		if object.Rule == nil {
			continue
		}
		translates := slices.ContainsFunc(object.Rule.Expr, func(e map[string]json.RawMessage) bool { return e["dnat"] != nil })
		for _, e := range object.Rule.Expr {
			var counter struct {
				Packets int64 `json:"packets"`
			}
			if raw := e["counter"]; translates && raw != nil && json.Unmarshal(raw, &counter) == nil {
				counted[object.Rule.Comment] += counter.Packets
			}
		}
	}
	return nil
}

// addSessions adds how many sessions HAProxy had on the ports that it carries; nothing where it cannot be asked.
func addSessions(ctx context.Context, h host.Host, e *transaction.Engine, entries []entry, counted map[string]int64) error {
	running, err := e.Running(ctx, h, haproxy.Daemon{})
	if err != nil || !running {
		return err
	}
	tree, err := e.Snapshot(ctx, h, haproxy.Daemon{})
	if err != nil {
		return err
	}
	status, err := haproxy.ReadStatus(ctx, h, tree)
	if errors.Is(err, haproxy.ErrNoSocket) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		for port := range e.Balanced() {
			counted[ruleName(e.Name, port)] += status.Frontends[Section(e.Name, port)].TotalSessions
		}
	}
	return nil
}
