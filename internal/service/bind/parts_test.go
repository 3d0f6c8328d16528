package bind

import (
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ours is the mark of all parts that the tests put.
var ours = owner.Mark{ID: "abcdefghijklmnop", Workspace: "0123456789abcdef"}

func addView(t transaction.Tree, v View) error                { return SetView(t, v, ours) }
func addZone(t transaction.Tree, z Zone, now time.Time) error { return SetZone(t, z, ours, now) }
func setServer(t transaction.Tree, s Server) error            { return SetServer(t, s, ours) }
func addRecordSet(t transaction.Tree, r RecordSet, now time.Time) error {
	return AddRecordSet(t, r, ours, now)
}
func setRecordSet(t transaction.Tree, r RecordSet, now time.Time) error {
	return SetRecordSet(t, r, ours, now)
}
