package ovn

import (
	"maps"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// carryOut makes the changes of columns that operations have.
func carryOut(operations []ovsdb.Operation, columns map[string]map[string]string) {
	for _, o := range operations {
		for _, m := range o.Mutations {
			switch value := m.Value.(type) {
			case ovsdb.OvsSet:
				for _, key := range value.GoSet {
					delete(columns[m.Column], key.(string))
				}
			case ovsdb.OvsMap:
				for key, text := range value.GoMap {
					columns[m.Column][key.(string)] = text.(string)
				}
			}
		}
	}
}

func TestADatapathSaysAgainWhatItSaidItself(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		says, notes                 string
		withheld, noted, saysAtLast string
	}{
		"it can":                       {says: "true", withheld: "false", noted: "true", saysAtLast: "true"},
		"it cannot":                    {says: "false", withheld: "false", saysAtLast: "false"},
		"it does not know of that":     {},
		"it was told":                  {says: "false", notes: "true", withheld: "false", noted: "true", saysAtLast: "true"},
		"it was told, and began again": {says: "true", notes: "true", withheld: "false", noted: "true", saysAtLast: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Datapath{UUID: "1", Capabilities: map[string]string{"recirc": "true"}, ExternalIDs: map[string]string{"persons": "note"}}
			others := [2]map[string]string{maps.Clone(p.Capabilities), maps.Clone(p.ExternalIDs)}
			if test.says != "" {
				p.Capabilities[zeroSNAT] = test.says
			}
			if test.notes != "" {
				p.ExternalIDs[zeroSNATKey] = test.notes
			}
			columns := map[string]map[string]string{capabilities: p.Capabilities, externalIDs: p.ExternalIDs}
			carryOut(p.withholdZeroSNAT(), columns)
			if p.Capabilities[zeroSNAT] != test.withheld || p.ExternalIDs[zeroSNATKey] != test.noted {
				t.Errorf("it says %q and notes %q", p.Capabilities[zeroSNAT], p.ExternalIDs[zeroSNATKey])
			}
			carryOut(p.restoreZeroSNAT(), columns)
			if p.Capabilities[zeroSNAT] != test.saysAtLast {
				t.Errorf("it says %q at last", p.Capabilities[zeroSNAT])
			}
			delete(p.Capabilities, zeroSNAT)
			if !maps.Equal(p.Capabilities, others[0]) || !maps.Equal(p.ExternalIDs, others[1]) {
				t.Errorf("what others have there is now %v, %v", p.Capabilities, p.ExternalIDs)
			}
		})
	}
}
