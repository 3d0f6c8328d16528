package bind

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// CheckFlushed returns an error for what is no name of a zone whose cache can be flushed: any zone's, and the root.
func CheckFlushed(zone string) error {
	if zone == "." {
		return nil
	}
	_, err := Zone{Name: zone}.CanonicalName()
	return err
}

// FlushZone has named on a machine forget what the cache of a view, "" of all views, has of a zone and of all names below it.
func FlushZone(ctx context.Context, h host.Host, zone, view string) error {
	if zone != "." {
		name, err := Zone{Name: zone}.CanonicalName()
		if err != nil {
			return err
		}
		zone = name
	}
	argv := []string{"rndc", "flushtree", zone}
	if view != "" {
		argv = append(argv, view)
	}
	_, err := h.Run(ctx, host.Cmd{Argv: argv, Repeatable: true})
	return err
}
