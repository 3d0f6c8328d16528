package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// DefineFilter makes a network filter, or replaces the one of its name and UUID under the guests that use it.
func (c *Client) DefineFilter(ctx context.Context, f *libvirtxml.NWFilter) error {
	text, err := f.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render network filter %q: %w", f.Name, err)
	}
	_, err = callIdempotent(ctx, c, fmt.Sprintf("define network filter %q", f.Name), func(l *libvirt.Libvirt) (libvirt.Nwfilter, error) {
		return l.NwfilterDefineXML(text)
	})
	return err
}

// Filter reads a network filter by its name; ErrNotFound where there is none.
func (c *Client) Filter(ctx context.Context, name string) (*libvirtxml.NWFilter, error) {
	text, err := callIdempotent(ctx, c, fmt.Sprintf("read network filter %q", name), func(l *libvirt.Libvirt) (string, error) {
		ref, err := l.NwfilterLookupByName(name)
		if err != nil {
			return "", err
		}
		return l.NwfilterGetXMLDesc(ref, 0)
	})
	if err != nil {
		return nil, err
	}
	f := &libvirtxml.NWFilter{}
	if err := f.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("cannot understand network filter %q: %w", name, err)
	}
	return f, nil
}

// FilterUUIDs returns the UUIDs of the network filters by their names; none of a hypervisor that cannot have any.
func (c *Client) FilterUUIDs(ctx context.Context) (map[string]string, error) {
	return callIdempotent(ctx, c, "list network filters", func(l *libvirt.Libvirt) (map[string]string, error) {
		all, _, err := l.ConnectListAllNwfilters(1, 0)
		if lacksFilters(err) {
			return nil, nil
		}
		uuids := map[string]string{}
		for _, f := range all {
			uuids[f.Name] = formatUUID(f.UUID)
		}
		return uuids, err
	})
}

// lacksFilters says whether libvirt has refused to list network filters because it has no driver for them. Each kind of libvirt has a code of its own
// for that: the test driver supports no such call, the driver of filters takes no session, and virtqemud finds no socket where virtnwfilterd is not
// installed; where it is down, it refuses at its socket. Every other refusal, such as a lack of rights, proves nothing: there may be filters, which
// a destroy would leave behind.
func lacksFilters(err error) bool {
	e, refused := errors.AsType[libvirt.Error](err)
	lacking := []libvirt.ErrorNumber{libvirt.ErrNoSupport, libvirt.ErrInternalError, libvirt.ErrSystemError}
	return refused && slices.Contains(lacking, libvirt.ErrorNumber(e.Code)) && !isClosedBehind(err) && refusingSocket(err) == ""
}

// UndefineFilter removes a network filter that no domain uses; an absent one is no error.
func (c *Client) UndefineFilter(ctx context.Context, name string) error {
	_, err := callIdempotent(ctx, c, fmt.Sprintf("undefine network filter %q", name), withoutResult(func(l *libvirt.Libvirt) error {
		ref, err := l.NwfilterLookupByName(name)
		if err != nil {
			return err
		}
		return l.NwfilterUndefine(ref)
	}))
	return ignoreAbsence(err)
}
