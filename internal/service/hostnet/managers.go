package hostnet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// What keeps a device's configuration over reboots.
const (
	Auto           = "auto"
	NetworkManager = "networkmanager"
	Networkd       = "systemd-networkd"
	Netplan        = "netplan"
	Ifupdown       = "ifupdown"
	Runtime        = "runtime"
)

// Manager is what manages one device.
type Manager struct {
	// Backend is one of the above, Runtime where nothing manages the device.
	Backend string
	// Others are further ones that claim the device.
	Others []string
	// Connection is the UUID of NetworkManager's connection, File the .network file of systemd-networkd.
	Connection, File string
}

// Managers are what manages each device of a machine.
type Managers struct {
	Devices map[string]Manager
	// Installed are the backends that are there and run, or need no daemon.
	Installed map[string]bool
}

// Of returns the manager of a device.
func (m Managers) Of(device string) Manager {
	if manager, ok := m.Devices[device]; ok {
		return manager
	}
	return Manager{Backend: Runtime}
}

// managersScript prints sections, each begun by a line "== NAME": what NetworkManager, systemd-networkd and ifupdown say of the
// devices, each only where it is in use.
const managersScript = `active() { systemctl is-active --quiet "$1" 2>/dev/null; }
if command -v nmcli >/dev/null 2>&1 && active NetworkManager; then
  echo '== networkmanager'
  nmcli --terse --escape no --fields DEVICE,STATE,CON-UUID device status || exit 1
fi
if active systemd-networkd; then
  echo '== systemd-networkd'
  networkctl --json=short list || exit 1
  echo
fi
if command -v netplan >/dev/null 2>&1 && [ -n "$(ls /etc/netplan/*.yaml 2>/dev/null)" ]; then echo '== netplan'; fi
if command -v ifquery >/dev/null 2>&1; then
  echo '== ifupdown'
  for device in $(ip -o link show | sed 's/^[0-9]*: \([^:@]*\).*/\1/'); do
    if [ "$device" != lo ] && ifquery "$device" >/dev/null 2>&1; then echo "$device"; fi
  done
fi`

// LookAtManagers asks a machine's network managers which devices are theirs.
func LookAtManagers(ctx context.Context, h host.Host) (Managers, error) {
	cmd := host.Script("look at the network's managers", managersScript)
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	if err != nil {
		return Managers{}, fmt.Errorf("ask what manages the network of %s: %w", h, err)
	}
	return parseManagers(string(out))
}

func parseManagers(text string) (Managers, error) {
	m := Managers{Devices: map[string]Manager{}, Installed: map[string]bool{Runtime: true}}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, isHead := strings.CutPrefix(line, "== ")
		switch {
		case isHead:
			section = name
			m.Installed[name] = true
		case line == "":
		case section == NetworkManager:
			// "unmanaged" is somebody else's, and "connected (externally)" only looked at.
			if f := strings.SplitN(line, ":", 3); len(f) == 3 && f[1] != "unmanaged" && !strings.Contains(f[1], "externally") {
				m.add(f[0], Manager{Backend: NetworkManager, Connection: f[2]})
			}
		case section == Networkd:
			if err := m.addNetworkd(line); err != nil {
				return m, err
			}
		case section == Ifupdown:
			m.add(line, Manager{Backend: Ifupdown})
		}
	}
	return m, nil
}

func (m Managers) addNetworkd(line string) error {
	var list struct {
		Interfaces []struct{ Name, AdministrativeState, NetworkFile string }
	}
	if err := json.Unmarshal([]byte(line), &list); err != nil {
		return fmt.Errorf("understand networkctl: %w", err)
	}
	for _, i := range list.Interfaces {
		if i.NetworkFile == "" || i.AdministrativeState == "unmanaged" {
			continue
		}
		manager := Manager{Backend: Networkd, File: i.NetworkFile}
		if strings.HasPrefix(i.NetworkFile, "/run/systemd/network/") && strings.Contains(i.NetworkFile, "-netplan-") {
			manager.Backend = Netplan
		}
		m.add(i.Name, manager)
	}
	return nil
}

func (m Managers) add(device string, manager Manager) {
	if known, ok := m.Devices[device]; ok {
		known.Others = append(known.Others, manager.Backend)
		m.Devices[device] = known
		return
	}
	m.Devices[device] = manager
}
