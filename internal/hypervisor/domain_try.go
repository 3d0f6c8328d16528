package hypervisor

import (
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// TryDomain asks whether a machine could be started: it starts one that has no persistent configuration without letting its
// guest run, and powers it off. The error is the hypervisor's refusal; nothing is left in either case but its log there.
func (c *Client) TryDomain(ctx context.Context, d *libvirtxml.Domain) error {
	text, err := d.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render domain %q: %w", d.Name, err)
	}
	// Should the connection break, libvirt powers it off by itself.
	const flags = libvirt.DomainStartPaused | libvirt.DomainStartAutodestroy
	_, err = callOnce(ctx, c, fmt.Sprintf("try domain %q", d.Name), withoutResult(func(l *libvirt.Libvirt) error {
		ref, err := l.DomainCreateXML(text, flags)
		if err != nil {
			return err
		}
		return l.DomainDestroyFlags(ref, libvirt.DomainDestroyDefault)
	}))
	return err
}
