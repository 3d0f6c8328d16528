package provision

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// recordPath is where a machine keeps what it was like before.
const recordPath = "/var/lib/virtcluster/service-node.json"

// Record says, for each service that was prepared, what its unit was like before. It stays on the machine,
// so that it outlives the state file and is shared by all configurations that use the machine.
type Record struct {
	Before map[string]UnitState `json:"before"`
}

func parseRecord(text []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", recordPath, err)
	}
	return r, nil
}

// store writes the record; an empty one is removed.
func (r Record) store(ctx context.Context, h host.Host) error {
	if len(r.Before) == 0 {
		return h.Remove(ctx, recordPath)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return h.Write(ctx, host.File{Path: recordPath, Content: append(text, '\n')})
}
