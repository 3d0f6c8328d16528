package bind

import "github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"

// ListZones lists the zones that can be imported, by their views and canonical names: those of every view, whoever wrote it, and those without
// one. No more of them is read.
func ListZones(t transaction.Tree) (all []Zone, err error) {
	c, err := readConfig(t)
	if err != nil {
		return nil, absentIsFine(err)
	}
	for _, view := range append([]string{""}, c.viewNames()...) {
		holder, _ := c.findZoneFile("")
		in := holder.File
		if view != "" {
			v, _, err := c.anyView(view)
			if err != nil {
				return nil, err
			}
			in = v.Block()
		}
		for _, s := range in.Statements {
			if name, err := ZoneName(s.Arg(0)); s.Name() == "zone" && s.Block() != nil && err == nil {
				all = append(all, Zone{View: view, Name: name})
			}
		}
	}
	return all, nil
}
