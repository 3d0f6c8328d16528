package bridge

import (
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// takeNeighbours adds to a change that the bridge has the neighbours that are written down for what it takes, or were for what it had
// taken before somebody deleted it, and keeps its own.
func (r Record) takeNeighbours(f found, c *hostnet.Change) {
	add := func(do, undo string) { c.Do, c.Undo = c.Do+do, c.Undo+undo }
	add(f.MoveNeighbours(f.name, f.name))
	for _, p := range r.Before {
		if f.isLost() {
			add(hostnet.GiveNeighbours(f.name, p.Neighbours), "")
		}
		add(f.MoveNeighbours(p.Name, f.name))
	}
}

// returnNeighbours adds to a change that gives the interfaces back what they had that each has its neighbours again. What somebody wrote
// down for the bridge meanwhile goes to the first one, as addresses do.
func (r Record) returnNeighbours(f found, c *hostnet.Change) {
	all := f.NeighboursOf(f.name)
	for i, p := range r.Before {
		if r.Want.otherMaster(f.Machine, p.Name) != "" {
			continue
		}
		its := p.Neighbours // of a bridge that somebody deleted
		if f.isRunning() {
			its = slices.DeleteFunc(slices.Clone(all), func(n hostnet.Neighbour) bool {
				known := slices.ContainsFunc(r.Before, func(o hostnet.DeviceSnapshot) bool { return knewNeighbour(o, n) })
				return !knewNeighbour(p, n) && (known || i > 0)
			})
		}
		c.Do += hostnet.GiveNeighbours(p.Name, its)
	}
	c.Undo += hostnet.GiveNeighbours(f.name, all)
}

// knewNeighbour says whether a neighbour was written down for an interface when the bridge took it.
func knewNeighbour(p hostnet.DeviceSnapshot, n hostnet.Neighbour) bool {
	return slices.ContainsFunc(p.Neighbours, func(o hostnet.Neighbour) bool { return o.Address == n.Address })
}
