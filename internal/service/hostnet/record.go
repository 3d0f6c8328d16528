package hostnet

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// The directories of records: what a machine's network cannot tell of a device that this provider configured. One of what nothing
// keeps does not outlive a reboot, like the configuration itself.
const (
	runDir  = "/run/virtcluster"
	keptDir = "/var/lib/virtcluster/hostnet"
)

// RecordPath is the file that holds the record of a device which a backend keeps; kind is "bridge" or "interface".
func RecordPath(kind, device, backend string) string {
	dir := keptDir
	if backend == Runtime {
		dir = runDir
	}
	return dir + "/" + kind + "-" + device + ".json"
}

// Kept is what this provider wrote of a device.
type Kept struct {
	// There says that a backend has a file of this provider for it, Mark whose that is.
	There bool
	Mark  owner.Mark
	// Records are those of the directories, by path.
	Records map[string]string
}

// printScript prints each of the files of its arguments that is there, behind a line "== PATH".
//
//go:embed print.sh
var printScript string

// LookAtKept reads what this provider wrote of a device.
func LookAtKept(ctx context.Context, h host.Host, kind, device string) (Kept, error) {
	k := Kept{Records: map[string]string{}}
	records := []string{RecordPath(kind, device, Runtime), RecordPath(kind, device, Auto)}
	paths := slices.Clone(records)
	for _, name := range slices.Sorted(maps.Keys(Backends)) {
		paths = append(paths, Backends[name].Path(device))
	}
	texts, err := printFiles(ctx, h, paths)
	if err != nil {
		return k, fmt.Errorf("read what is recorded of %s %q on %s: %w", kind, device, h, err)
	}
	for _, path := range paths {
		text, there := texts[path]
		switch {
		case slices.Contains(records, path):
			k.Records[path] = text
		case there:
			k.There, k.Mark = true, owner.Parse(text)
		}
	}
	return k, nil
}

// printFiles reads those of some files that are there, in one round trip.
func printFiles(ctx context.Context, h host.Host, paths []string) (map[string]string, error) {
	cmd := host.Script("read files", printScript, paths...)
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for part := range strings.SplitSeq("\n"+string(out), "\n== ") {
		path, text, _ := strings.Cut(part, "\n")
		texts[path] = text
	}
	delete(texts, "")
	return texts, nil
}

// RenderRecord is what the machine keeps of a thing, as a file: written is that in plain values.
func RenderRecord(written any) []byte {
	text, err := json.MarshalIndent(written, "", "  ")
	if err != nil {
		panic(err) // plain values always marshal
	}
	return append(text, '\n')
}
