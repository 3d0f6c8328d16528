package bind

import (
	"fmt"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// The parts of BIND's configuration that resources have: mark is their owner's, and importID what `terraform import` takes for one. What is
// written anew gets its serial number by the time now.

// NewServerPart returns that of the server's own options.
func NewServerPart(of part.Identity) part.Part[Server] {
	put := func(t transaction.Tree, s Server) error { return SetServer(t, s, of.Mark) }
	return part.Part[Server]{
		Daemon: Daemon{}, Owner: "DNS server", Place: Place, ImportID: of.ImportID,
		Mark: ServerMark, // the distribution's options are nobody's: they are there to be replaced
		Find: FindServer,
		Add:  put, Set: put,
		Drop: DropServer,
	}
}

// NewViewPart returns that of a view.
func NewViewPart(of part.Identity) part.Part[View] {
	put := func(t transaction.Tree, v View) error { return SetView(t, v, of.Mark) }
	return part.Part[View]{
		Daemon: Daemon{}, Owner: fmt.Sprintf("DNS view %q", of.Name), Place: Place, ImportID: of.ImportID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return ViewMark(t, of.Name) },
		Find: func(t transaction.Tree) (View, error) { return FindView(t, of.Name) },
		Add:  put, Set: put,
		Drop:  func(t transaction.Tree) error { return DropView(t, of.Name) },
		Stays: func(t transaction.Tree) string { return explainStayingView(t, of.Name) },
	}
}

// NewZonePart returns that of a zone in a view; "" is none.
func NewZonePart(view, zone, importID string, mark owner.Mark, now time.Time) part.Part[Zone] {
	put := func(t transaction.Tree, z Zone) error { return SetZone(t, z, mark, now) }
	return part.Part[Zone]{
		Daemon: Daemon{}, Owner: fmt.Sprintf("DNS zone %q in view %q", zone, view), Place: Place, ImportID: importID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return ZoneMark(t, view, zone) },
		Find: func(t transaction.Tree) (Zone, error) {
			if err := refuseUnmanageable(t, view, zone); err != nil {
				return Zone{}, err
			}
			return FindZone(t, view, zone)
		},
		Add: put, Set: put,
		Drop:  func(t transaction.Tree) error { return DropZone(t, view, zone) },
		Stays: func(t transaction.Tree) string { return explainStayingZone(t, view, zone) },
	}
}

// NewRecordSetPart returns that of a record set, which key names; label names it in messages.
func NewRecordSetPart(key RecordSet, label, importID string, mark owner.Mark, now time.Time) part.Part[RecordSet] {
	return part.Part[RecordSet]{
		Daemon: Daemon{}, Owner: fmt.Sprintf("DNS record set %q", label), Place: Place, ImportID: importID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return RecordSetMark(t, key) },
		Find: func(t transaction.Tree) (RecordSet, error) { return FindRecordSet(t, key) },
		Add:  func(t transaction.Tree, r RecordSet) error { return AddRecordSet(t, r, mark, now) },
		Set:  func(t transaction.Tree, r RecordSet) error { return SetRecordSet(t, r, mark, now) },
		Drop: func(t transaction.Tree) error { return DropRecordSet(t, key, now) },
	}
}
