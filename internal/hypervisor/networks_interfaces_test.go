package hypervisor

import "testing"

func TestInterfacesOfNetworksAndBridgesAreFoundWhateverElseTheySay(t *testing.T) {
	t.Parallel()
	const domain = `<devices>
<interface type='network'><source network='a'/></interface>
<interface type='network' trustGuestRxFilters='yes'><source network='b'/></interface>
<interface type='bridge'
  managed='no'><source bridge='c'/></interface>
<interface type='direct' trustGuestRxFilters='yes'><source dev='eth0'/></interface>
<interface type='networks'/>
</devices>`
	if all := interfaceElement.FindAllString(domain, -1); len(all) != 3 {
		t.Errorf("found %q", all)
	}
}
