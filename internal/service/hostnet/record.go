package hostnet

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
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

// Record is what a machine keeps of a thing that this provider configured: what its network cannot tell. S is the thing, as plain values. It counts
// for as long as the thing carries its mark.
type Record[S any] struct {
	Mark owner.Mark `json:"-"` // as words
	// Want is the thing as it was last configured.
	Want S `json:"want"`
	// Before are the devices that it is made of, as they were when this provider took them.
	Before []DeviceSnapshot `json:"before"`
	// MAC is the hardware address of a bridge.
	MAC string `json:"mac,omitempty"`
	// Adopted is a bridge as it was when an import took it over from a person whose files make it; nil for one that this provider makes.
	Adopted *DeviceSnapshot `json:"adopted,omitempty"`
}

// writtenRecord is a record as it is written.
type writtenRecord[S any] struct {
	Mark string `json:"mark"`
	Record[S]
}

// Render is the record as a file; ParseRecord is its inverse.
func (r Record[S]) Render() []byte {
	text, err := json.MarshalIndent(writtenRecord[S]{r.Mark.String(), r}, "", "  ")
	if err != nil {
		panic(err) // plain values always marshal
	}
	return append(text, '\n')
}

// ParseRecord reads a record.
func ParseRecord[S any](text []byte) (Record[S], error) {
	var w writtenRecord[S]
	err := json.Unmarshal(text, &w)
	w.Record.Mark = owner.Parse(w.Mark)
	return w.Record, err
}

// File is the record of a device as a file: kind is "bridge" or "interface".
func (r Record[S]) File(kind, device, backend string) File {
	return File{Path: RecordPath(kind, device, backend), Content: string(r.Render()), Mode: 0o600}
}

// WithoutRecord are the removals of what may be the record of a device.
func WithoutRecord(kind, device string) []File {
	return []File{{Path: RecordPath(kind, device, Runtime), Absent: true}, {Path: RecordPath(kind, device, Auto), Absent: true}}
}

// Kept is what this provider wrote of a device.
type Kept[S any] struct {
	// There says that a backend has a file of this provider for it, Mark whose that is.
	There bool
	Mark  owner.Mark
	// Records are those that are there.
	Records []Record[S]
}

// LostMark says that the file of a backend tells no more whose it is, as somebody had it written anew. It is nobody's until it is imported, and
// what was before the provider took the device is still what its record says.
func (k Kept[S]) LostMark() bool { return k.There && k.Mark == (owner.Mark{}) }

// printScript prints each of the files of its arguments that is there, behind a line "== PATH".
//
//go:embed print.sh
var printScript string

// LookAtKept reads what this provider wrote of a device.
func LookAtKept[S any](ctx context.Context, h host.Host, kind, device string) (k Kept[S], err error) {
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
		case !there:
		case !slices.Contains(records, path):
			k.There, k.Mark = true, owner.Parse(text)
		case text != "":
			r, err := ParseRecord[S]([]byte(text))
			if err != nil {
				return k, fmt.Errorf("read %s on %s: %w", path, h, err)
			}
			k.Records = append(k.Records, r)
		}
	}
	return k, nil
}

// printFiles reads those of some files that are there, in one round trip.
func printFiles(ctx context.Context, h host.Host, paths []string) (map[string]string, error) {
	out, err := h.Run(ctx, host.RepeatableScript("read files", printScript, paths...))
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

// ListRecorded lists the devices of which a machine keeps records, in order: kind is "bridge" or "interface". A record may be of what is no more.
func ListRecorded(ctx context.Context, h host.Host, kind string) ([]string, error) {
	files, err := host.ReadGlobs(ctx, h, []string{RecordPath(kind, "*", Runtime), RecordPath(kind, "*", Auto)})
	if err != nil {
		return nil, fmt.Errorf("read which %ss are recorded on %s: %w", kind, h, err)
	}
	var devices []string
	for file := range files {
		device := strings.TrimSuffix(strings.TrimPrefix(path.Base(file), kind+"-"), ".json")
		if !slices.Contains(devices, device) {
			devices = append(devices, device)
		}
	}
	slices.Sort(devices)
	return devices, nil
}
