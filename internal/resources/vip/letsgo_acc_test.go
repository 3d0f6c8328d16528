package vip_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccAnAddressThatKeepalivedLetsGoIsNobodys removes a VIP while another state changes an interface of the machine. The interface's change
// notes what others gave the machine's devices when keepalived's configuration has the VIP no more, but keepalived still holds it: it is told
// to reload only after that. What was noted and is gone at the end of the change is given back, unless it was held.
func TestAccAnAddressThatKeepalivedLetsGoIsNobodys(t *testing.T) {
	acctest.InSandbox(t)
	id := machines(t, 1)[0]
	const address = "10.0.100.250"
	on := func(script string) string { return acctest.On(t, "svc-1", "sh", "-ec", script) }
	t.Cleanup(func() {
		out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", `rm -rf /run/acc-reload /usr/local/bin/networkctl /run/systemd/system/keepalived.service.d; systemctl daemon-reload
systemctl stop keepalived; rm -f `+conf+`; ip link del acclets0; ip address del `+address+`/24 dev eth0 2>/dev/null; true`)
		if err != nil {
			t.Error(out)
		}
	})
	on("ip link add acclets0 type veth peer name acclets1; ip link set acclets1 up")
	theirs := func(name, address string, router int) string {
		return fmt.Sprintf("resource \"virtcluster_vip\" %q {\n  name = %[1]q\n  addresses = [%q]\n  virtual_router_id = %d\n  members = { svc-1 = { service_node = %q, interface = \"eth0\" } }\n}\n",
			name, address+"/24", router, id)
	}
	interfaceOf := func(more string) string {
		return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_interface\" \"i\" {\n  host = %q\n  name = \"acclets0\"\n  backend = \"systemd-networkd\"\n  addresses = [\"10.66.5.1/24\"%s]\n}\n", id, more)
	}
	of, beside := acctest.NewState(t), acctest.NewState(t)
	of.DestroyAtEnd()
	beside.DestroyAtEnd()
	of.Apply(acctest.Provider() + theirs("goes", address, 61) + theirs("stays", "10.0.100.251", 62))
	beside.Apply(interfaceOf(""))
	comesTo(t, address, "svc-1")

	// keepalived is told to reload when networkd is, which waits until the address has gone.
	on(`mkdir -p /run/systemd/system/keepalived.service.d
printf '[Service]\nExecReload=\nExecReload=/bin/sh -c "until [ -e /run/acc-reload ]; do sleep 0.05; done; kill -HUP $MAINPID"\n' >/run/systemd/system/keepalived.service.d/acc.conf
printf '#!/bin/sh\nif [ "$1" = reload ]; then\n  touch /run/acc-reload\n  n=0; while ip -o address show dev eth0 | grep -qF " ` + address + `/" && [ $n -lt 200 ]; do sleep 0.05; n=$((n + 1)); done\nfi\nexec /usr/bin/networkctl "$@"\n' >/usr/local/bin/networkctl
chmod 755 /usr/local/bin/networkctl; systemctl daemon-reload`)
	of.Write(acctest.Provider() + theirs("stays", "10.0.100.251", 62))
	removal := of.Start("apply", "-auto-approve")
	acctest.Eventually(t, "keepalived's change does not begin", func() bool {
		_, err := acctest.Try(t.Context(), "svc-1", "test", "-e", "/var/lib/virtcluster/keepalived/journal.json")
		return err == nil
	})
	if there := on("ip -o address show dev eth0"); !strings.Contains(there, " "+address+"/") {
		t.Fatalf("keepalived has let the address go before it was told to reload:\n%s", there)
	}
	beside.Apply(interfaceOf(`, "10.66.5.2/24"`))
	if err := removal.Wait(); err != nil {
		t.Error(err)
	}
	if there := on("ip -o address show dev eth0"); strings.Contains(there, " "+address+"/") {
		t.Errorf("the machine was given the address that keepalived let go:\n%s", there)
	}
	of.Settled()
	beside.Settled()
}
