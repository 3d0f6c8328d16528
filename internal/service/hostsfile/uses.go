package hostsfile

import (
	"encoding/json"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Uses implements plan.User: a machine's hosts file has one block of a name.
func (b Block) Uses() []plan.Use {
	return []plan.Use{{Kind: plan.HostsBlock, Value: b.Name, Path: []any{"name"}}}
}

// Describe implements plan.Described: by the id, and what the block says.
func (b Block) Describe(id string) string {
	entries, err := json.Marshal(b.Entries)
	if err != nil {
		return fmt.Sprintf("hosts file %q", id)
	}
	return fmt.Sprintf("hosts file %q, entries %s", id, entries)
}
