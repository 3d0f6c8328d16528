package bmc_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// send sends a body to the service of a port, and returns the status and the answer.
func (s *stage) send(method string, port int, path, body string) (int, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, fmt.Sprintf("https://%s:%d%s", s.address, port, path), strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.SetBasicAuth("admin", password)
	request.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// property is what a document has at a place such as "Boot/BootSourceOverrideMode"; nil where it has nothing.
func (s *stage) property(port int, path, place string) any {
	s.t.Helper()
	status, text := s.get(port, path)
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil || status != http.StatusOK {
		s.t.Fatal(path, status, text, err)
	}
	for word := range strings.SplitSeq(place, "/") {
		object, _ := value.(map[string]any)
		value = object[word]
	}
	return value
}

// members are the paths of the members of a collection, one at least.
func (s *stage) members(port int, collection string) (paths []string) {
	s.t.Helper()
	members, _ := s.property(port, collection, "Members").([]any)
	for _, m := range members {
		member, _ := m.(map[string]any)
		path, _ := member["@odata.id"].(string)
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		s.t.Fatalf("%s has no members", collection)
	}
	return paths
}

const (
	services = "/redfish/v1"
	system   = services + "/Systems/w1"
	manager  = services + "/Managers/w1"
)

// TestAccBMCHasTheProfileOfIronic walks what the profile of OpenStack's Ironic (1.2.0) has as mandatory or recommended, on the controllers of a machine:
// properties, the values that are written, and actions.
func TestAccBMCHasTheProfileOfIronic(t *testing.T) {
	s := newStage(t)
	s.domain("w1", drive)
	s.domain("w2", "")
	acctest.Run(t, "sh", "-ec", `virsh dumpxml w2 | sed "s|<os>|<os firmware='efi'>|; s|machine='pc-q35[^']*'|machine='q35'|" >"$1"; virsh undefine w2; virsh define "$1"`, "sh", s.dir+"/w2-uefi.xml")
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "hypervisor", "sh", "-c", "virsh destroy w2; virsh undefine w2 --nvram")
	})
	state := acctest.NewState(t)
	state.Apply(s.config(nodes))
	state.DestroyAtEnd()

	t.Run("properties", func(t *testing.T) { s.For(t).hasProperties() })
	t.Run("values", func(t *testing.T) { s.For(t).takesValues() })
	t.Run("reset", func(t *testing.T) { s.For(t).resets() })
	t.Run("media", func(t *testing.T) { s.For(t).takesMedia() })
	t.Run("Secure Boot", func(t *testing.T) { s.For(t).keepsSecureBoot() })
}

// hasProperties finds all that is read.
func (s *stage) hasProperties() {
	s.t.Helper()
	nic, cpu, disk := s.members(8001, system+"/EthernetInterfaces")[0], s.members(8001, system+"/Processors")[0], system+"/Storage/1/Drives/vda"
	for path, places := range map[string][]string{
		services:              {"RedfishVersion", "Systems", "SessionService", "Tasks", "UpdateService"},
		services + "/Systems": {"Members"},
		system: {
			"Boot/BootSourceOverrideEnabled", "Boot/BootSourceOverrideMode", "Boot/BootSourceOverrideTarget", "Links/ManagedBy", "Links/Chassis", "MemorySummary/TotalSystemMemoryGiB",
			"PowerState", "Actions/#ComputerSystem.Reset", "Bios", "BiosVersion", "EthernetInterfaces", "IndicatorLED", "Manufacturer", "Processors", "SecureBoot", "SimpleStorage", "Storage",
			"VirtualMedia",
		},
		nic:                            {"MACAddress", "Status/Health", "Status/State"},
		manager:                        {"FirmwareVersion", "VirtualMedia"},
		cpu:                            {"ProcessorArchitecture", "TotalThreads"},
		disk:                           {"MediaType", "Protocol", "Status", "CapacityBytes", "Model", "Name"},
		system + "/SimpleStorage/1":    {"Devices", "Status"},
		system + "/SecureBoot":         {"SecureBootEnable", "Actions/#SecureBoot.ResetKeys"},
		system + "/Bios":               {"Attributes"},
		services + "/Chassis/w1":       {"Power", "Thermal"},
		services + "/Chassis/w1/Power": {"PowerControl"}, services + "/Chassis/w1/Thermal": {"Temperatures"},
		services + "/TaskService": {"Tasks"}, services + "/UpdateService": {"FirmwareInventory"},
	} {
		for _, place := range places {
			if s.property(8001, path, place) == nil {
				s.t.Errorf("%s has no %s", path, place)
			}
		}
	}
	for _, owner := range []string{system, manager} {
		var types []any
		for _, medium := range s.members(8001, owner+"/VirtualMedia") {
			for _, place := range []string{"Inserted", "MediaTypes", "WriteProtected", "Actions/#VirtualMedia.InsertMedia", "Actions/#VirtualMedia.EjectMedia"} {
				if s.property(8001, medium, place) == nil {
					s.t.Errorf("%s has no %s", medium, place)
				}
			}
			if _, text := s.get(8001, medium); !strings.Contains(text, `"Image":`) {
				s.t.Errorf("%s has no Image: %s", medium, text)
			}
			is, _ := s.property(8001, medium, "MediaTypes").([]any)
			types = append(types, is...)
		}
		for _, want := range []any{"CD", "DVD", "USBStick"} {
			if !slices.Contains(types, want) {
				s.t.Errorf("%s has media of %v, and none of %v", owner, types, want)
			}
		}
	}
	resets, _ := s.property(8001, system, "Actions/#ComputerSystem.Reset/ResetType@Redfish.AllowableValues").([]any)
	for _, kind := range []string{"On", "ForceOff", "ForceRestart", "GracefulShutdown", "GracefulRestart", "Nmi"} {
		if !slices.Contains(resets, any(kind)) {
			s.t.Errorf("it does not say that it knows %s: %v", kind, resets)
		}
	}
}

// change has a property be changed, and read back as it was written.
func (s *stage) change(body string, reads map[string]any) {
	s.t.Helper()
	if status, text := s.send("PATCH", 8001, system, body); status >= 300 {
		s.t.Errorf("%s: %d %s", body, status, text)
	}
	for place, want := range reads {
		if got := s.property(8001, system, place); got != want {
			s.t.Errorf("after %s %s is %v", body, place, got)
		}
	}
}

// takesValues writes all that is written.
func (s *stage) takesValues() {
	s.t.Helper()
	for _, enabled := range []string{"Once", "Continuous"} {
		for _, target := range []string{"Pxe", "Hdd", "Cd"} {
			s.change(fmt.Sprintf(`{"Boot":{"BootSourceOverrideEnabled":%q,"BootSourceOverrideTarget":%q,"BootSourceOverrideMode":"Legacy"}}`, enabled, target),
				map[string]any{"Boot/BootSourceOverrideEnabled": enabled, "Boot/BootSourceOverrideTarget": target, "Boot/BootSourceOverrideMode": "Legacy"})
		}
	}
	s.change(`{"Boot":{"BootSourceOverrideEnabled":"Disabled"}}`, map[string]any{"Boot/BootSourceOverrideEnabled": "Disabled", "Boot/BootSourceOverrideTarget": "None"})
	// The other machine has UEFI, which alone boots by HTTP.
	const uefi = services + "/Systems/w2"
	if status, text := s.send("PATCH", 8002, uefi, `{"Boot":{"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"UefiHttp","BootSourceOverrideMode":"UEFI"}}`); status >= 300 || s.overrideOf(8002, "w2") != "Once UefiHttp" {
		s.t.Errorf("%d %s, and it is %s", status, text, s.overrideOf(8002, "w2"))
	}
	for _, led := range []string{"Lit", "Blinking", "Off"} {
		s.change(fmt.Sprintf(`{"IndicatorLED":%q}`, led), map[string]any{"IndicatorLED": led})
	}
}

// resets does every action, those that the profile does not have too.
func (s *stage) resets() {
	s.t.Helper()
	for _, step := range []struct{ kind, after string }{
		{"On", "On"}, {"ForceRestart", "On"}, {"GracefulRestart", "On"}, {"Nmi", "On"}, {"PowerCycle", "On"}, {"GracefulShutdown", ""}, {"ForceOff", "Off"},
		{"ForceOn", "On"}, {"PushPowerButton", ""}, {"ForceOff", "Off"},
	} {
		status, text := s.send("POST", 8001, system+"/Actions/ComputerSystem.Reset", fmt.Sprintf(`{"ResetType":%q}`, step.kind))
		if got := s.property(8001, system, "PowerState"); status != http.StatusNoContent || step.after != "" && got != step.after {
			s.t.Errorf("%s: %d %s, and it is %v", step.kind, status, text, got)
		}
	}
}

// takesMedia inserts and ejects each medium by both of its places.
func (s *stage) takesMedia() {
	s.t.Helper()
	url := s.iso()
	for _, owner := range []string{system, manager} {
		for _, medium := range s.members(8001, owner+"/VirtualMedia") {
			for _, step := range []struct {
				action, body    string
				inserted, image any
			}{{"InsertMedia", fmt.Sprintf(`{"Image":%q}`, url), true, url}, {"EjectMedia", "", false, nil}} {
				status, text := s.send("POST", 8001, medium+"/Actions/VirtualMedia."+step.action, step.body)
				inserted, image := s.property(8001, medium, "Inserted"), s.property(8001, medium, "Image")
				if status != http.StatusNoContent || inserted != step.inserted || image != step.image {
					s.t.Errorf("%s %s: %d %s, and it is %v, %v", medium, step.action, status, text, inserted, image)
				}
			}
		}
	}
	if got := s.property(8001, system, "PowerState"); got != "Off" {
		s.t.Errorf("media have the machine %v", got)
	}
}

// keepsSecureBoot writes what Secure Boot is, and resets the keys of a machine with UEFI.
func (s *stage) keepsSecureBoot() {
	s.t.Helper()
	const bios, uefi = system + "/SecureBoot", services + "/Systems/w2/SecureBoot"
	const reset = `{"ResetKeysType":"ResetAllKeysToDefault"}`
	for _, step := range []struct {
		method       string
		port, status int
		path, body   string
	}{
		{"PATCH", 8001, http.StatusOK, bios, `{"SecureBootEnable":false}`}, {"PATCH", 8001, http.StatusBadRequest, bios, `{"SecureBootEnable":true}`},
		{"PATCH", 8002, http.StatusOK, uefi, fmt.Sprintf(`{"SecureBootEnable":%v}`, s.property(8002, uefi, "SecureBootEnable"))},
		{"POST", 8001, http.StatusBadRequest, bios + "/Actions/SecureBoot.ResetKeys", reset},
		{"POST", 8002, http.StatusNoContent, uefi + "/Actions/SecureBoot.ResetKeys", reset},
	} {
		if status, text := s.send(step.method, step.port, step.path, step.body); status != step.status || status >= 400 && !strings.Contains(text, "@Message.ExtendedInfo") {
			s.t.Errorf("%s %s %s: %d %s", step.method, step.path, step.body, status, text)
		}
	}
	// isTemplate ends well where the machine's variables are those of a template of its firmware.
	const isTemplate = `file=/var/lib/libvirt/qemu/nvram/w2_VARS.fd; is() { for t in /usr/share/OVMF/OVMF_VARS*.fd; do ! cmp -s "$file" "$t" || return 0; done; return 1; }; `
	acctest.Run(s.t, "sh", "-ec", isTemplate+`is; printf x | dd of="$file" bs=1 seek=4096 conv=notrunc status=none; ! is`)
	if status, text := s.send("POST", 8002, uefi+"/Actions/SecureBoot.ResetKeys", reset); status != http.StatusNoContent {
		s.t.Errorf("%d %s", status, text)
	}
	acctest.Run(s.t, "sh", "-ec", isTemplate+"is")
	if state := s.state("w2"); state != "shut off" {
		s.t.Errorf("the machine is %s", state)
	}
}
