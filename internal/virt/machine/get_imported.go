package machine

import (
	"bytes"
	"context"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/cloudinit"
)

// seedLimit is the largest seed or Ignition configuration that an import reads; they are some hundred kilobytes.
const seedLimit = 16 << 20

// readImported reads what only the machine's own files and its mark know.
func (s *Store) readImported(ctx context.Context, got *Spec, m *Machine) error {
	if got.Settings = (Settings{}); m.Mark.Settings != nil {
		got.Settings = *m.Mark.Settings
	}
	if m.IgnitionFile != "" {
		content, err := readVolumeFile(ctx, s.client, m.IgnitionFile)
		if err != nil {
			return err
		}
		if content == nil {
			content = readHostFile(ctx, s.client, m.IgnitionFile)
		}
		text := recoverIgnition(got, string(bytes.TrimRight(content, "\x00 ")))
		if got.Ignition = text; m.Mark.Butane {
			got.Ignition, got.Butane = "", text
		}
	}
	disk := m.Disk(Seed)
	if disk == nil {
		return nil
	}
	image, err := readVolumeFile(ctx, s.client, disk.Path)
	if err != nil || image == nil {
		return err
	}
	seed, err := cloudinit.ReadImage(image)
	if err != nil {
		return err
	}
	got.CloudInit, err = recoverCloudInit(got, seed, m.UUID)
	return err
}

// readHostFile reads a file that no pool has, as somebody may have put it anywhere; nil where that cannot be done.
func readHostFile(ctx context.Context, c *hypervisor.Client, path string) []byte {
	content, err := c.HostFile(ctx, path)
	if err != nil {
		tflog.Warn(ctx, "cannot read the node's Ignition configuration", map[string]any{"file": path, "error": err.Error()})
	}
	return content
}

// readVolumeFile reads a file on the hypervisor that is a volume; nil where no pool has it.
func readVolumeFile(ctx context.Context, c *hypervisor.Client, path string) ([]byte, error) {
	volume, err := c.VolumeByPath(ctx, path)
	if hypervisor.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.PeekVolume(ctx, volume, 0, min(volume.Capacity(), seedLimit))
}
