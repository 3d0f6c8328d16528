package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// Checkpoint is a moment of a domain from which on its disks keep which of their parts were written to: what an incremental backup copies.
type Checkpoint struct {
	Name, Description string
	Created           time.Time
	// Disks are the targets of the disks that keep it. They do so in bitmaps in their files.
	Disks []string
}

// Checkpoints lists the checkpoints of a domain that libvirt knows, whoever made them.
func (c *Client) Checkpoints(ctx context.Context, uuid string) ([]Checkpoint, error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return nil, err
	}
	return callIdempotent(ctx, c, "list the checkpoints of domain "+uuid, func(l *libvirt.Libvirt) ([]Checkpoint, error) {
		refs, _, err := l.DomainListAllCheckpoints(ref, 1, 0)
		if err != nil {
			return nil, err
		}
		return readAll(refs, func(ref libvirt.DomainCheckpoint) (Checkpoint, error) {
			text, err := l.DomainCheckpointGetXMLDesc(ref, uint32(libvirt.DomainCheckpointXMLNoDomain))
			if err != nil {
				return Checkpoint{}, err
			}
			return parseCheckpoint(text)
		})
	})
}

// parseCheckpoint reads libvirt's XML of a checkpoint.
func parseCheckpoint(text string) (Checkpoint, error) {
	var x libvirtxml.DomainCheckpoint
	if err := x.Unmarshal(text); err != nil {
		return Checkpoint{}, fmt.Errorf("cannot understand the checkpoint's XML: %w", err)
	}
	p := Checkpoint{Name: x.Name, Description: x.Description}
	if seconds, err := strconv.ParseInt(x.CreationTime, 10, 64); err == nil {
		p.Created = time.Unix(seconds, 0).UTC()
	}
	if x.Disks != nil {
		for _, d := range x.Disks.Disks {
			if d.Checkpoint == "bitmap" {
				p.Disks = append(p.Disks, d.Name)
			}
		}
	}
	return p, nil
}

// renderXML returns the checkpoint as libvirt is asked to make it. others are the targets of the domain's disks that keep nothing.
func (p Checkpoint) renderXML(others []string) (string, error) {
	x := libvirtxml.DomainCheckpoint{Name: p.Name, Description: p.Description, Disks: &libvirtxml.DomainCheckpointDisks{}}
	kinds := map[string]string{}
	for _, target := range others {
		kinds[target] = "no"
	}
	for _, target := range p.Disks {
		kinds[target] = "bitmap"
	}
	for _, target := range slices.Sorted(maps.Keys(kinds)) {
		x.Disks.Disks = append(x.Disks.Disks, libvirtxml.DomainCheckpointDisk{Name: target, Checkpoint: kinds[target]})
	}
	text, err := x.Marshal()
	if err != nil {
		return "", fmt.Errorf("cannot render checkpoint %q: %w", p.Name, err)
	}
	return text, nil
}

var momentDescription = regexp.MustCompile(`(?s)<description>.*?</description>`)

// replaceDescription returns libvirt's XML of a snapshot or a checkpoint with another description, and leaves everything else of it.
func replaceDescription(text, name, description string) (string, error) {
	element, err := renderDescription(description)
	if err != nil {
		return "", err
	}
	at := momentDescription.FindStringIndex(text)
	if at == nil {
		return "", fmt.Errorf("%q has no description", name)
	}
	return text[:at[0]] + element + text[at[1]:], nil
}

// DescribeCheckpoint gives a checkpoint of a domain another description, and leaves everything else of it.
func (c *Client) DescribeCheckpoint(ctx context.Context, uuid, name, description string) error {
	return c.redefineCheckpoint(ctx, uuid, name, "describe", 0, func(text string) (string, error) { return replaceDescription(text, name, description) })
}

// redefineCheckpoint tells libvirt its own record of a checkpoint anew, by flags beside the usual one, and changed where that is not nil.
func (c *Client) redefineCheckpoint(
	ctx context.Context, uuid, name, verb string, flags libvirt.DomainCheckpointCreateFlags, change func(string) (string, error),
) error {
	return c.onDomain(ctx, uuid, fmt.Sprintf("%s checkpoint %q of", verb, name), func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		checkpoint, err := l.DomainCheckpointLookupByName(ref, name, 0)
		if err != nil {
			return err
		}
		text, err := l.DomainCheckpointGetXMLDesc(checkpoint, uint32(libvirt.DomainCheckpointXMLSecure))
		if err == nil && change != nil {
			text, err = change(text)
		}
		if err != nil {
			return err
		}
		_, err = l.DomainCheckpointCreateXML(ref, text, uint32(libvirt.DomainCheckpointCreateRedefine|flags))
		return err
	})
}

// DeleteCheckpoint removes a checkpoint of a machine that runs, or is paused: what its disks kept since goes to the checkpoint before it, if
// there is one. Where the disks have lost it, as after a power failure, only libvirt's record of it is there to remove. One that libvirt does
// not know is no error.
func (c *Client) DeleteCheckpoint(ctx context.Context, uuid, name string) error {
	err := c.removeCheckpoint(ctx, uuid, name, 0)
	if Code(err) != int(libvirt.ErrInternalError) && !IsBrokenCheckpoint(err) {
		return err
	}
	// An internal error may be any. Of what the disks have lost libvirt has a code where it is told its record anew and is to look.
	lost := c.redefineCheckpoint(ctx, uuid, name, "look for what the disks keep since", libvirt.DomainCheckpointCreateRedefineValidate, nil)
	if !IsBrokenCheckpoint(lost) {
		return errors.Join(err, lost)
	}
	return c.ForgetCheckpoint(ctx, uuid, name)
}

// ForgetCheckpoint has libvirt forget a checkpoint, and leaves what its disks keep. One that it does not know is no error.
func (c *Client) ForgetCheckpoint(ctx context.Context, uuid, name string) error {
	return c.removeCheckpoint(ctx, uuid, name, libvirt.DomainCheckpointDeleteMetadataOnly)
}

func (c *Client) removeCheckpoint(ctx context.Context, uuid, name string, flags libvirt.DomainCheckpointDeleteFlags) error {
	return ignoreAbsence(c.onDomain(ctx, uuid, fmt.Sprintf("delete checkpoint %q of", name), func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		checkpoint, err := l.DomainCheckpointLookupByName(ref, name, 0)
		if err != nil {
			return err
		}
		return l.DomainCheckpointDelete(checkpoint, flags)
	}))
}

// IsBrokenCheckpoint says that the disks of a machine have lost what they kept since a checkpoint.
func IsBrokenCheckpoint(err error) bool { return Code(err) == int(libvirt.ErrCheckpointInconsistent) }
