package ovn

import (
	"slices"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/client"
)

// asked is a client that makes monitors, and nothing else.
type asked struct{ client.Client }

func (asked) NewMonitor(...client.MonitorOption) *client.Monitor { return &client.Monitor{} }

func TestOnlyColumnsWithAFieldAreMonitored(t *testing.T) {
	t.Parallel()
	for _, table := range SouthDB.newMonitor(asked{}).Tables {
		if table.Table == "Chassis_Private" {
			if slices.Sort(table.Fields); !slices.Equal(table.Fields, []string{"name", "nb_cfg"}) {
				t.Errorf("columns %q", table.Fields)
			}
			return
		}
	}
	t.Error("the progress of chassis is not monitored")
}
