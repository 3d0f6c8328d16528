package ovn

import (
	"reflect"
	"slices"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

func TestPortsOfTheIntegrationBridgeAreToldApart(t *testing.T) {
	t.Parallel()
	mode := "secure"
	got := newIntegration(&Bridge{Name: IntegrationBridge, Type: "netdev", FailMode: &mode}, []SwitchPort{
		{Name: IntegrationBridge}, {Name: "vnet1"}, {Name: "vnet0", ExternalIDs: map[string]string{"persons": "note"}},
		{Name: "ovn-97cd-0", ExternalIDs: map[string]string{"ovn-chassis-id": "97cd@172.16.0.12"}},
		{Name: "patch-br-int-to-lab", ExternalIDs: map[string]string{"ovn-localnet-port": "lab"}},
	})
	if got.FailMode != mode || got.Datapath != "netdev" || !slices.Equal(got.Used, []string{"vnet0", "vnet1"}) {
		t.Errorf("%+v", got)
	}
}

// What joins the bridge of ovn-controller and a person's stays behind on the person's when only the first one is removed.
func TestPatchesOfAChassisGo(t *testing.T) {
	t.Parallel()
	localnet := func(uuid, name string) SwitchPort {
		return SwitchPort{UUID: uuid, Name: uuid, ExternalIDs: map[string]string{"ovn-localnet-port": name}}
	}
	ports := []SwitchPort{localnet("inner", "lab"), localnet("outer", "lab"), localnet("persons", "other"), {UUID: "eth1", Name: "eth1"}, {UUID: "vnet0", Name: "vnet0"}}
	external := Bridge{UUID: "1", Name: "br-ex", Ports: []string{"eth1", "outer", "persons"}}
	integration := Bridge{UUID: "2", Name: IntegrationBridge, Ports: []string{"vnet0", "inner"}}
	gone := map[string]ovsdb.OvsSet{}
	for _, o := range removePatches([]Bridge{external, integration}, ports) {
		gone[o.Where[0].Value.(ovsdb.UUID).GoUUID] = o.Mutations[0].Value.(ovsdb.OvsSet)
	}
	if want := map[string]ovsdb.OvsSet{"1": references("outer"), "2": references("inner")}; !reflect.DeepEqual(gone, want) {
		t.Errorf("there go %v, not %v", gone, want)
	}
	if got := removePatches([]Bridge{external}, ports); got != nil {
		t.Errorf("without a bridge of ovn-controller there go %v", got)
	}
}
