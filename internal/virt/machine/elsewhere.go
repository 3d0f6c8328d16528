package machine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// ElsewhereError says that a node is on another hypervisor than it should be.
type ElsewhereError struct {
	// Node is its name, Here the hypervisor where it should be, and There the one where it is; "" is the provider's own.
	Node, Here, There string
}

func (e *ElsewhereError) Error() string {
	name := func(hypervisor string) string {
		if hypervisor == "" {
			return "the hypervisor of the provider's uri"
		}
		return fmt.Sprintf("hypervisor %q", hypervisor)
	}
	return fmt.Sprintf("node %q is on %s, and not on %s: write it into a resource for that one", e.Node, name(e.There), name(e.Here))
}

// FindNode looks for a node on a hypervisor, one of all that are known. One that is on another of them is an *ElsewhereError, one that is
// nowhere hypervisor.ErrNotFound.
func FindNode(ctx context.Context, all map[string]*hypervisor.Client, here, node string) error {
	client, ok := all[here]
	if !ok {
		return nil // it says so itself
	}
	_, err := client.DomainByName(ctx, node)
	if !hypervisor.IsNotFound(err) {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == here {
			continue
		}
		if _, elsewhere := all[name].DomainByName(ctx, node); elsewhere == nil {
			return &ElsewhereError{Node: node, Here: here, There: name}
		}
	}
	return fmt.Errorf("there is no node %q on the hypervisor: a resource that makes it has to come first, so write its name as virtcluster_node.….name: %w", node, err)
}
