package hostnet

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
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
	// Connection is the UUID of NetworkManager's connection, File the file that it or systemd-networkd has for the device.
	Connection, File string
}

// Written says whether a person, or a tool of the machine's, wrote the configuration for the device: NetworkManager makes connections
// up for cards that have none.
func (m Manager) Written() bool {
	return m.Backend != Runtime && (m.Backend != NetworkManager || strings.HasPrefix(m.File, "/etc/") || strings.Contains(m.File, "netplan"))
}

// Managers are what manages each device of a machine.
type Managers struct {
	Devices map[string]Manager
	// Installed are the backends that are there and run, or need no daemon.
	Installed map[string]bool
	// NetplanError is what netplan has against its files: then they have no effect at the machine's next start.
	NetplanError string
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
//
//go:embed managers.sh
var managersScript string

// LookAtManagers asks a machine's network managers which devices are theirs.
func LookAtManagers(ctx context.Context, h host.Host) (Managers, error) {
	out, err := h.Run(ctx, host.RepeatableScript("look at the network's managers", managersScript))
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
			m.Installed[name] = name != "connections"
		case line == "":
		case section == "connections":
			uuid, file, _ := strings.Cut(line, ":")
			m.nameFile(uuid, file)
		case section == Netplan:
			m.NetplanError = strings.TrimSpace(m.NetplanError + " " + line)
		case section == NetworkManager:
			// "unmanaged" is somebody else's, and "connected (externally)" only looked at.
			if f := strings.SplitN(line, ":", 3); len(f) == 3 && f[1] != "unmanaged" && !strings.Contains(f[1], "externally") {
				m.addManager(f[0], Manager{Backend: NetworkManager, Connection: f[2]})
			}
		case section == Networkd:
			if err := m.addNetworkd(line); err != nil {
				return m, err
			}
		case section == Ifupdown:
			m.addManager(line, Manager{Backend: Ifupdown})
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
		m.addManager(i.Name, manager)
	}
	return nil
}

// nameFile adds the file of a connection of NetworkManager's.
func (m Managers) nameFile(uuid, file string) {
	for device, manager := range m.Devices {
		if manager.Backend == NetworkManager && manager.Connection == uuid {
			manager.File = file
			m.Devices[device] = manager
		}
	}
}

// Choose returns the backend that shall keep some devices: what manages them, unless the configuration names it, as wanted. What is
// kept already stays with what keeps it. at is where an error about one of the devices belongs.
func (m Managers) Choose(wanted, keeps string, devices []string, at func(i int) []any) (string, error) {
	here := []any{"backend"}
	if wanted == "" {
		wanted = Auto // as a configuration that says nothing
	}
	if m.NetplanError != "" && wanted != Runtime {
		return "", service.At(here, fmt.Errorf("netplan cannot read its files, so nothing would be configured at the next start: mend them first: %s", m.NetplanError))
	}
	if keeps != "" && (wanted == Auto || wanted == keeps) {
		return keeps, nil
	}
	found, by := "", ""
	for i, name := range devices {
		d := m.Of(name)
		if len(d.Others) > 0 {
			return "", service.At(at(i), fmt.Errorf("%s is managed by %s and by %s: leave it to one of them", name, d.Backend, strings.Join(d.Others, " and ")))
		}
		if wanted == Auto && d.Backend == Runtime {
			continue // what nothing manages goes with the others
		}
		if found != "" && d.Backend != found && wanted == Auto {
			return "", service.At(here, fmt.Errorf("%s manages %s and %s manages %s: name the backend", found, by, d.Backend, name))
		}
		// Netplan renders for systemd-networkd, and gives way to files of that one's own.
		fits := wanted == Auto || wanted == Runtime || d.Backend == Runtime || wanted == d.Backend || wanted == Networkd && d.Backend == Netplan
		if !fits {
			return "", service.At(here, fmt.Errorf("%s is managed by %s, which would take it back: write \"auto\" or %q", name, d.Backend, d.Backend))
		}
		found, by = d.Backend, name
	}
	switch {
	case wanted == Auto && found == "":
		return Runtime, nil
	case wanted == Auto:
		return found, nil
	}
	if !m.Installed[wanted] || wanted == Netplan && !m.Installed[Networkd] {
		return "", service.At(here, fmt.Errorf("%s is not in use on the machine: write \"auto\", or install and start it", wanted))
	}
	return wanted, nil
}

func (m Managers) addManager(device string, manager Manager) {
	if known, ok := m.Devices[device]; ok {
		known.Others = append(known.Others, manager.Backend)
		m.Devices[device] = known
		return
	}
	m.Devices[device] = manager
}
