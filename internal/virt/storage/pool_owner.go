package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// A pool's XML has no room for notes, and what this provider must remember has to outlive a killed apply and a lost state:
// which state made the pool, and whether it made the directory. So the pool's UUID says it (RFC 9562, version 8): its first
// half that the provider made the pool, with or without its directory, its second half where the state is that it is in.
const (
	adopted = "adopted" // the directory was there
	made    = "made"    // the provider made it, so it goes with the pool when it is empty
)

// poolMark is what a pool's UUID says.
type poolMark struct {
	// Ours says that this provider made the pool, for whichever state, and Directory that it made its directory too.
	Ours, Directory bool
	// Workspace says that a run of the given workspace made it, and Placed that it tells workspaces apart at all.
	Workspace, Placed bool
}

// buildPoolUUID returns the UUID of a pool that a run in a workspace makes.
func buildPoolUUID(name, dir, origin, workspace string) string {
	what := sha256.Sum256([]byte(strings.Join([]string{"virtcluster storage pool, with its workspace", name, path.Clean(dir), origin}, "\x00")))
	where := sha256.Sum256([]byte("virtcluster workspace\x00" + workspace))
	return spellUUID(append(what[:8:8], where[:8]...))
}

// buildUnplacedPoolUUID returns the UUID that versions before owners gave to a pool. It does not say which state the pool is in.
func buildUnplacedPoolUUID(name, dir, origin string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"virtcluster storage pool", name, path.Clean(dir), origin}, "\x00")))
	return spellUUID(sum[:16])
}

func spellUUID(u []byte) string {
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	h := hex.EncodeToString(u)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// readPoolMark reads what a pool's UUID says, to a run in a workspace.
func readPoolMark(p *hypervisor.Pool, workspace string) poolMark {
	var m poolMark
	for _, origin := range []string{made, adopted} {
		mine := buildPoolUUID(p.Name(), p.Path(), origin, workspace)
		placed := len(p.UUID()) == len(mine) && p.UUID()[:18] == mine[:18]
		known := placed || p.UUID() == buildUnplacedPoolUUID(p.Name(), p.Path(), origin)
		m.Ours, m.Placed = m.Ours || known, m.Placed || placed
		m.Directory = m.Directory || known && origin == made
		m.Workspace = m.Workspace || workspace != "" && p.UUID() == mine
	}
	return m
}
