package bmc_test

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/redfish"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const nodes = `
  nodes = {
    w1 = { port = 8001, ipmi_port = 6231 }
    w2 = { port = 8002, ipmi_port = 6232 }
  }
`

// ipmi runs ipmitool against a node's controller.
func (s *stage) ipmi(port string, argv ...string) (string, error) {
	return acctest.Try(s.t.Context(), "hypervisor", append([]string{"ipmitool", "-I", "lanplus", "-H", s.address, "-p", port, "-U", "admin", "-P", password}, argv...)...)
}

// state is virsh's word for a machine.
func (s *stage) state(name string) string { return acctest.Virsh(s.t, "domstate", name) }

// connect logs gofish in at a port, and returns the first system.
func (s *stage) connect(port int) *redfish.ComputerSystem {
	s.t.Helper()
	c, err := gofish.Connect(gofish.ClientConfig{Endpoint: fmt.Sprintf("https://%s:%d", s.address, port), Username: "admin", Password: password, Insecure: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Logout)
	systems, err := c.Service.Systems()
	if err != nil || len(systems) == 0 {
		s.t.Fatal(systems, err)
	}
	return systems[0]
}

// medium is what gofish has of a place for media ("Cd", "Usb") of the first system at a port.
func (s *stage) medium(port int, slot string) *redfish.VirtualMedia {
	s.t.Helper()
	media, err := s.connect(port).VirtualMedia()
	at := slices.IndexFunc(media, func(v *redfish.VirtualMedia) bool { return v.ID == slot })
	if err != nil || len(media) != 2 || at < 0 {
		s.t.Fatalf("there are %d media, %s at %d: %v", len(media), slot, at, err)
	}
	return media[at]
}

// get asks the service of a port by basic authentication.
func (s *stage) get(port int, path string) (int, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, fmt.Sprintf("https://%s:%d%s", s.address, port, path), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.SetBasicAuth("admin", password)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func TestAccBMCLife(t *testing.T) {
	s := newStage(t)
	log1 := s.domain("w1", drive)
	s.domain("w2", "")
	before := s.left()
	terraform := acctest.NewState(t)
	terraform.Apply(s.config(nodes))
	terraform.Settled()
	done := false
	t.Cleanup(func() {
		if !done {
			_, _ = terraform.Try("destroy", "-auto-approve")
		}
	})

	t.Run("ipmitool", func(t *testing.T) { s.For(t).powersByIPMI() })
	t.Run("gofish", func(t *testing.T) { s.For(t).bootsByRedfish(log1) })
	t.Run("other clients", func(t *testing.T) { s.For(t).otherClients() })
	t.Run("who runs it", func(t *testing.T) {
		const unit = "virtcluster-bmc-rack.service"
		if who := acctest.On(t, s.machine, "sh", "-c", "ps -o user:20= -p $(systemctl show --property=MainPID --value "+unit+")"); who != "vc-bmc-rack" {
			t.Errorf("the program runs as %s", who)
		}
		if out := acctest.On(t, s.machine, "sh", "-c", "find /etc/virtcluster -type f -perm /077; grep -rl "+password+" /etc /var/lib | sort; journalctl -u "+unit+" | grep -c "+password+" || :"); out != "/etc/virtcluster/bmc/rack/ipmi-password\n0" {
			t.Errorf("the password, or files that others may read, are in %s", out)
		}
		if text, _ := os.ReadFile(terraform.Dir + "/terraform.tfstate"); strings.Contains(string(text), password) {
			t.Error("the password is in the state")
		}
	})
	t.Run("drift", func(t *testing.T) {
		state := terraform.For(t)
		for what, script := range map[string]string{
			"a stopped program": "systemctl stop virtcluster-bmc-rack", "another unit": "sed -i s/RestartSec=2/RestartSec=3/ /etc/systemd/system/virtcluster-bmc-rack.service",
			"another port": "sed -i s/8002/8003/ /etc/virtcluster/bmc/rack/config.json", "another program": "cd /usr/local/libexec && cp virtcluster-bmc-rack new && echo >>new && mv new virtcluster-bmc-rack",
			"another password": `sed -i 's/"password_hash": ".*"/"password_hash": "x"/' /etc/virtcluster/bmc/rack/config.json`,
		} {
			acctest.On(t, s.machine, "sh", "-ec", script)
			if out, err := state.Try("plan", "-detailed-exitcode"); err == nil || !strings.Contains(out, "1 to change") {
				t.Errorf("%s is not seen: %v\n%s", what, err, out)
			}
			state.Run("apply", "-auto-approve")
			state.Settled()
		}
		if out, err := s.ipmi("6232", "power", "status"); err != nil {
			t.Errorf("after drift: %v %s", err, out)
		}
	})
	t.Run("import", func(t *testing.T) {
		state := terraform.For(t)
		state.Run("state", "rm", "virtcluster_bmc.it")
		state.Run("import", "virtcluster_bmc.it", "rack")
		state.Settled()
	})
	t.Run("a restart of its machine", func(t *testing.T) {
		acctest.Reboot(t, s.machine)
		acctest.OfferLibvirt(s.t, s.machine) // as a libvirtd of its own would be there again
		acctest.Eventually(t, "the controllers serve", func() bool {
			status, _ := s.get(8001, "/redfish/v1/Systems/w1")
			_, err := s.ipmi("6232", "power", "status")
			return status == http.StatusOK && err == nil
		})
		terraform.For(t).Settled()
	})
	t.Run("change", func(t *testing.T) {
		state := terraform.For(t)
		// A certificate of an authority that the client knows.
		acctest.Run(t, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=rack", "-addext", "subjectAltName=IP:"+s.address,
			"-keyout", s.dir+"/tls.key", "-out", s.dir+"/tls.crt")
		state.Apply(strings.ReplaceAll(s.config(fmt.Sprintf("tls = { certificate = file(%q), key = file(%q) }\n", s.dir+"/tls.crt", s.dir+"/tls.key")+"shared_port = 8443\nnodes = { w1 = { ipmi_port = 0 }, w2 = { ipmi_port = 0, system_id = \"two\" } }"), `password_wo_version = 1`, `password_wo_version = 2`))
		state.Settled()
		if status, text := s.get(8443, "/redfish/v1/Systems/two"); status != http.StatusOK || !strings.Contains(text, `"Name": "w2"`) {
			t.Errorf("%d %s", status, text)
		}
		if out := acctest.Run(t, "curl", "-sS", "--cacert", s.dir+"/tls.crt", fmt.Sprintf("https://%s:8443/redfish/v1/", s.address)); !strings.Contains(out, `"RedfishVersion"`) {
			t.Errorf("by the given certificate it is %s", out)
		}
		if out := acctest.On(t, s.machine, "sh", "-c", "grep -rl "+password+" /etc /var/lib || :; ss -Hltun | grep -c ':6231\\|:8001' || :"); out != "0" {
			t.Errorf("without IPMI the password is kept, or ports are open: %s", out)
		}
	})
	// A disc that is in a drive goes with the controllers, and so does a stick that is plugged in.
	url := s.iso()
	for _, slot := range []string{"Cd", "Usb"} {
		if err := s.medium(8443, slot).InsertMedia(url, true, true); err != nil {
			t.Fatal(slot, err)
		}
	}
	terraform.Run("destroy", "-auto-approve")
	done = true
	if after := s.left(); after != before {
		t.Errorf("destroy left\n%s\nbefore\n%s", after, before)
	}
	if volumes := acctest.Virsh(t, "vol-list", "default"); strings.Contains(volumes, "bmc-") {
		t.Errorf("media are left: %s", volumes)
	}
}

// For is the same stage for a subtest.
func (s *stage) For(t *testing.T) *stage {
	other := *s
	other.t = t
	return &other
}

// powersByIPMI does all that ipmitool does to a machine.
func (s *stage) powersByIPMI() {
	t := s.t
	step := func(want string, argv ...string) {
		t.Helper()
		if out, err := s.ipmi("6231", argv...); err != nil || !strings.Contains(out, want) {
			t.Fatalf("ipmitool %v: %v: %s", argv, err, out)
		}
	}
	// What takes long is answered before its end.
	is := func(want string) {
		t.Helper()
		acctest.Eventually(t, "w1 is "+want, func() bool { return s.state("w1") == want })
	}
	step("is off", "power", "status")
	step("Up/On", "power", "on")
	step("is on", "power", "status")
	is("running")
	step("System Power         : on", "chassis", "status")
	step("Reset", "power", "reset")
	step("Cycle", "power", "cycle")
	step("", "power", "diag")
	is("running")
	step("Set Boot Device to pxe", "chassis", "bootdev", "pxe")
	step("Force PXE", "chassis", "bootparam", "get", "5")
	step("only next boot", "chassis", "bootparam", "get", "5")
	step("Soft", "power", "soft")
	step("Down/Off", "power", "off")
	is("shut off")
	step("Set Boot Device to none", "chassis", "bootdev", "none")
	step("Device ID", "mc", "info")
	if out, err := acctest.Try(t.Context(), "hypervisor", "ipmitool", "-I", "lanplus", "-H", s.address, "-p", "6231", "-U", "admin", "-P", "wrong", "power", "status"); err == nil {
		t.Errorf("a wrong password comes in: %s", out)
	}
	if out, err := acctest.Try(t.Context(), "hypervisor", "ipmitool", "-I", "lan", "-H", s.address, "-p", "6231", "-U", "admin", "-P", password, "power", "status"); err == nil {
		t.Errorf("version 1.5 comes in: %s", out)
	}
	// The serial console: what the firmware says at its start.
	step("Up/On", "power", "on")
	out, _ := acctest.Try(t.Context(), "hypervisor", "sh", "-c", `(sleep 2; ipmitool -I lanplus -H "$1" -p 6231 -U admin -P "$2" power reset >/dev/null; sleep 15; printf '~.') |
		timeout 40 script -qec "ipmitool -I lanplus -H $1 -p 6231 -U admin -P $2 sol activate" /dev/null`, "sh", s.address, password)
	if !strings.Contains(out, "SeaBIOS") && !strings.Contains(out, "Linux") {
		t.Errorf("the console shows %q", out)
	}
	step("Down/Off", "power", "off")
}

// overrideOf is what Redfish says of a boot override: "Once Pxe".
func (s *stage) overrideOf(port int, id string) string {
	s.t.Helper()
	status, text := s.get(port, "/redfish/v1/Systems/"+id)
	var doc struct {
		Boot struct{ BootSourceOverrideEnabled, BootSourceOverrideTarget string }
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || status != http.StatusOK {
		s.t.Fatal(status, text, err)
	}
	return doc.Boot.BootSourceOverrideEnabled + " " + doc.Boot.BootSourceOverrideTarget
}

// bootsByRedfish boots once from the network and from a disc, as gofish asks.
func (s *stage) bootsByRedfish(log string) {
	t := s.t
	system := s.connect(8001)
	says := func(text string) func() bool {
		return func() bool { said, _ := os.ReadFile(log); return strings.Contains(string(said), text) }
	}
	override := func(target redfish.BootSourceOverrideTarget) {
		t.Helper()
		if err := system.SetBoot(redfish.Boot{BootSourceOverrideEnabled: redfish.OnceBootSourceOverrideEnabled, BootSourceOverrideTarget: target}); err != nil {
			t.Fatal(err)
		}
	}
	reset := func(kind redfish.ResetType) {
		t.Helper()
		if err := system.Reset(kind); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	config := acctest.Virsh(t, "dumpxml", "--inactive", "w1")
	reset(redfish.OnResetType)
	acctest.Eventually(t, "w1 boots from its disk", says("Booting from Hard Disk"))
	override(redfish.PxeBootSourceOverrideTarget)
	reset(redfish.ForceRestartResetType)
	if got := s.overrideOf(8001, "w1"); got != "Once Pxe" {
		t.Errorf("after a warm reset the override is %s", got)
	}
	// It outlives its program, which sessions do not.
	acctest.On(t, s.machine, "systemctl", "restart", "virtcluster-bmc-rack")
	system = s.connect(8001)
	reset(redfish.ForceOffResetType)
	if got := s.overrideOf(8001, "w1"); got != "Once Pxe" {
		t.Errorf("of a machine that is off the override is %s", got)
	}
	reset(redfish.OnResetType)
	acctest.Eventually(t, "w1 boots from the network", says("Booting from ROM"))
	if got := s.overrideOf(8001, "w1"); got != "Disabled None" {
		t.Errorf("after the boot the override is %s", got)
	}
	// The guest's own reboot is from the disk again.
	if err := os.Truncate(log, 0); err != nil {
		t.Fatal(err)
	}
	reset(redfish.ForceRestartResetType)
	acctest.Eventually(t, "w1 boots from its disk after the network", says("Booting from Hard Disk"))
	if says("Booting from ROM")() {
		t.Error("w1 asked the network again")
	}
	if after := acctest.Virsh(t, "dumpxml", "--inactive", "w1"); after != config {
		t.Errorf("the machine's configuration has changed:\n%s\nbefore\n%s", after, config)
	}

	url := s.iso()
	disc := s.medium(8001, "Cd")
	// The override that the client read first has been spent: what it writes now is a change of another state.
	system = s.connect(8001)
	// While it runs.
	if err := disc.InsertMedia(url, true, true); err != nil {
		t.Fatal(err)
	}
	if out := acctest.Virsh(t, "domblklist", "w1"); !strings.Contains(out, "bmc-w1-") {
		t.Errorf("the drive has %s", out)
	}
	override(redfish.CdBootSourceOverrideTarget)
	reset(redfish.PowerCycleResetType)
	acctest.Eventually(t, "w1 boots from the disc", says("Booting from DVD/CD"))
	if err := disc.EjectMedia(); err != nil {
		t.Fatal(err)
	}
	if out := acctest.Virsh(t, "domblklist", "w1") + acctest.Virsh(t, "vol-list", "default"); strings.Contains(out, "bmc-w1-") {
		t.Errorf("the disc is left: %s", out)
	}
	reset(redfish.ForceOffResetType)
	for wrong, want := range map[string]string{
		strings.Replace(url, "disc.iso", "w1.xml", 1): "no ISO image", strings.Replace(url, "disc.iso", "none.iso", 1): "404", "http://10.0.100.254:1/x.iso": "cannot be fetched",
	} {
		if err := disc.InsertMedia(wrong, true, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if out := acctest.Virsh(t, "vol-list", "default"); strings.Contains(out, "bmc-") || s.state("w1") != "shut off" {
		t.Errorf("what failed left %s, or started the machine", out)
	}
	// A machine without a drive gets one while it is off.
	other := s.connect(8002)
	disc = s.medium(8002, "Cd")
	if err := disc.InsertMedia(url, true, true); err != nil {
		t.Fatal(err)
	}
	if err := other.SetBoot(redfish.Boot{BootSourceOverrideEnabled: redfish.OnceBootSourceOverrideEnabled, BootSourceOverrideTarget: redfish.CdBootSourceOverrideTarget}); err != nil {
		t.Fatal(err)
	}
	if err := other.Reset(redfish.OnResetType); err != nil {
		t.Fatal(err)
	}
	acctest.Eventually(t, "w2 boots from the disc", func() bool {
		said, _ := os.ReadFile("/var/log/libvirt/w2.log")
		return strings.Contains(string(said), "Booting from DVD/CD")
	})
	if err := disc.EjectMedia(); err != nil {
		t.Fatal(err)
	}
	if err := other.Reset(redfish.ForceOffResetType); err != nil {
		t.Fatal(err)
	}
}

// otherClients has clients of others power the machine.
func (s *stage) otherClients() {
	t := s.t
	sh := func(want, script string) {
		t.Helper()
		out, err := acctest.Try(t.Context(), "hypervisor", "sh", "-ec", script, "sh", s.address, password)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
	is := func(want string) {
		t.Helper()
		acctest.Eventually(t, "w1 is "+want, func() bool { return s.state("w1") == want })
	}
	_, _ = acctest.Try(t.Context(), "hypervisor", "virsh", "destroy", "w1") // it runs where another subtest ended early
	const redfishtool = `env -u REQUESTS_CA_BUNDLE -u CURL_CA_BUNDLE redfishtool -r "$1:8001" -u admin -p "$2" -S Always `
	sh(`"PowerState": "Off"`, redfishtool+"Systems -F")
	sh("", redfishtool+"Systems -F reset On")
	is("running")
	sh("", redfishtool+`Systems -F setBootOverride Once Pxe`)
	if got := s.overrideOf(8001, "w1"); got != "Once Pxe" {
		t.Errorf("redfishtool set %s", got)
	}
	sh("", redfishtool+"Systems -F reset ForceOff")
	is("shut off")
	for _, fence := range []string{
		`fence_redfish --ip "$1" --ipport 8001 --username admin --password "$2" --ssl-insecure --systems-uri /redfish/v1/Systems/w1`,
		`fence_redfish --ip "$1" --ipport 8001 --username admin --password "$2" --ssl-insecure`,
		`fence_ipmilan --ip "$1" --ipport 6231 --username admin --password "$2" --lanplus`,
	} {
		sh("", fence+" --power-timeout 60 --action on")
		is("running")
		sh("ON", fence+" --power-timeout 60 --action status")
		sh("", fence+" --power-timeout 60 --action reboot")
		is("running")
		sh("", fence+" --power-timeout 60 --action off")
		is("shut off")
	}
	url := s.iso()
	script := fmt.Sprintf(`import sys, time, sushy
for auth in (sushy.auth.SessionAuth("admin", sys.argv[2]), sushy.auth.BasicAuth("admin", sys.argv[2]), sushy.auth.SessionOrBasicAuth("admin", sys.argv[2])):
    root = sushy.Sushy("https://%%s:8001" %% sys.argv[1], auth=auth, verify=False)
    system = root.get_system("/redfish/v1/Systems/w1")
    assert system.power_state == sushy.PowerState.OFF, system.power_state
    system.set_system_boot_options(sushy.BootSource.PXE, enabled=sushy.BootSourceOverrideEnabled.ONCE)
    system.refresh()
    assert system.boot["target"] == sushy.BootSource.PXE, system.boot
    system.reset_system(sushy.ResetType.ON)
    system.refresh()
    assert system.power_state == sushy.PowerState.ON
    assert system.boot["enabled"] == sushy.BootSourceOverrideEnabled.DISABLED, system.boot
    assert system.memory_summary.size_gib == 1, system.memory_summary
    assert list(system.processors.summary) == [1, sushy.ProcessorArchitecture.X86], system.processors.summary
    assert system.ethernet_interfaces.summary == {"52:54:00:77:00:01": sushy.State.ENABLED}, system.ethernet_interfaces.summary
    assert system.simple_storage.max_size_bytes > 0
    for manager in system.managers:
        assert manager.firmware_version
        for media in manager.virtual_media.get_members():
            media.insert_media(%[1]q)
            media.refresh()
            assert media.inserted and media.image == %[1]q
            media.eject_media()
            media.refresh()
            assert not media.inserted
    system.reset_system(sushy.ResetType.FORCE_OFF)
`, url)
	file := s.dir + "/sushy-test.py"
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	sh("", "env -u REQUESTS_CA_BUNDLE -u CURL_CA_BUNDLE /usr/bin/python3 -W ignore "+file+` "$1" "$2"`)
}

// cyclesOf is how many power cycles the test makes: ACC_BMC_CYCLES, or so few that a busy machine has done them in a minute.
func cyclesOf(t *testing.T) int {
	t.Helper()
	text := cmp.Or(os.Getenv("ACC_BMC_CYCLES"), "20")
	cycles, err := strconv.Atoi(text)
	if err != nil || cycles < 2 {
		t.Fatalf("ACC_BMC_CYCLES is %q, and no number from 2 on", text)
	}
	return cycles
}

func TestAccBMCManyCycles(t *testing.T) {
	s := newStage(t)
	s.domain("w1", drive)
	terraform := acctest.NewState(t)
	terraform.Apply(s.config("nodes = { w1 = { port = 8001, ipmi_port = 6231 } }"))
	terraform.DestroyAtEnd()
	system := s.connect(8001)
	if err := system.Reset(redfish.OnResetType); err != nil {
		t.Fatal(err)
	}
	redfishCycle := func() error { return system.Reset(redfish.PowerCycleResetType) }
	ipmiCycle := func() error {
		_, err := s.ipmi("6231", "power", "cycle")
		return err
	}
	cycles, failed := cyclesOf(t), 0
	began := time.Now()
	for n := range cycles {
		before := acctest.Virsh(t, "domid", "w1")
		if n == cycles*3/10 || n == cycles*7/10 {
			acctest.Run(t, "sh", "-c", `was=$(cat /run/sandbox/libvirtd.pid); kill $was; while kill -0 $was 2>/dev/null; do sleep 0.1; done
(setsid libvirtd >>/run/sandbox/libvirtd.out 2>&1 </dev/null & echo $! >/run/sandbox/libvirtd.pid)`)
		}
		cycle := redfishCycle
		if n%2 == 1 {
			cycle = ipmiCycle
		}
		if err := cycle(); err != nil {
			failed++
			t.Errorf("cycle %d: %v", n, err)
			continue
		}
		acctest.Eventually(t, fmt.Sprintf("it runs anew after cycle %d", n), func() bool {
			after, err := acctest.Try(t.Context(), "hypervisor", "virsh", "domid", "w1")
			return err == nil && after != before && after != "-"
		})
	}
	t.Logf("%d power cycles, %d failed, in %s", cycles, failed, time.Since(began).Round(time.Second))
}
