package bind

import (
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ListZones lists the zones by their views and canonical names, whoever wrote them: those of every view, and those in none but what every
// distribution configures (RFC 1912, section 4.1). No more of them is read.
func ListZones(t transaction.Tree) (all []Zone, err error) {
	c, err := readConfig(t)
	if err != nil {
		return nil, absentIsFine(err)
	}
	add := func(view string, s *namedconf.Statement) {
		if name, err := ZoneName(s.Arg(0)); err == nil {
			all = append(all, Zone{View: view, Name: name})
		}
	}
	zones, err := c.listZonesInNoView()
	if err != nil {
		return nil, err
	}
	for _, s := range zones {
		if isOurZone(s) || isPersonal(s) {
			add("", s)
		}
	}
	for _, view := range c.viewNames() {
		v, _, err := c.anyView(view)
		if err != nil {
			return nil, err
		}
		for _, s := range v.Block().Statements {
			if s.Name() == "zone" && s.Block() != nil && markerOf(s) != keptMarker {
				add(view, s)
			}
		}
	}
	return all, nil
}
