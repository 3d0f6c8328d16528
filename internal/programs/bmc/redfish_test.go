package bmc

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/common"
	"github.com/stmcginnis/gofish/redfish"
	"golang.org/x/crypto/bcrypt"
)

// serveRedfish serves a system by https until the test ends.
func serveRedfish(t *testing.T, systems ...*System) *httptest.Server {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(testPassword), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewTLSServer(newRedfish("5d0a2c1e-0000-4000-8000-0000000000ff", systems, newAccess("admin", string(hash)), slog.New(slog.DiscardHandler)))
	t.Cleanup(s.Close)
	return s
}

// connect logs gofish in.
func connect(t *testing.T, s *httptest.Server, basic bool) *gofish.APIClient {
	t.Helper()
	c, err := gofish.Connect(gofish.ClientConfig{Endpoint: s.URL, Username: "admin", Password: testPassword, Insecure: true, BasicAuth: basic})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Logout)
	return c
}

func TestGofishPowersBootsAndInserts(t *testing.T) {
	for name, basic := range map[string]bool{"by a session": false, "by basic authentication": true} {
		t.Run(name, func(t *testing.T) {
			m, s := newToy(t)
			c := connect(t, serveRedfish(t, s), basic)
			systems, err := c.Service.Systems()
			if err != nil || len(systems) != 1 {
				t.Fatal(systems, err)
			}
			system := systems[0]
			if system.UUID != m.UUID || system.PowerState != redfish.OffPowerState || system.MemorySummary.TotalSystemMemoryGiB != 2.5 || system.BIOSVersion == "" {
				t.Errorf("it is %+v", system)
			}
			processors, err := system.Processors()
			if err != nil || len(processors) != 1 || processors[0].TotalThreads != 2 || processors[0].ProcessorArchitecture != redfish.X86ProcessorArchitecture {
				t.Errorf("processors %+v: %v", processors, err)
			}
			interfaces, err := system.EthernetInterfaces()
			if err != nil || len(interfaces) != 1 || interfaces[0].MACAddress != m.MACs[0] || interfaces[0].Status.Health != common.OKHealth {
				t.Errorf("interfaces %+v: %v", interfaces, err)
			}
			storage, err := system.Storage()
			if err != nil || len(storage) != 1 {
				t.Fatal(storage, err)
			}
			drives, err := storage[0].Drives()
			if err != nil || len(drives) != 1 || drives[0].CapacityBytes != 1<<30 || drives[0].MediaType != redfish.SSDMediaType {
				t.Errorf("drives %+v: %v", drives, err)
			}
			managers, err := system.ManagedBy()
			if err != nil || len(managers) != 1 || managers[0].FirmwareVersion == "" {
				t.Fatal(managers, err)
			}
			if err := system.SetBoot(redfish.Boot{BootSourceOverrideEnabled: redfish.OnceBootSourceOverrideEnabled, BootSourceOverrideTarget: redfish.CdBootSourceOverrideTarget}); err != nil {
				t.Fatal(err)
			}
			for place, media := range map[string]func() ([]*redfish.VirtualMedia, error){"system": system.VirtualMedia, "manager": managers[0].VirtualMedia} {
				for _, in := range slots {
					// gofish has the members of a collection in no order.
					find := func() *redfish.VirtualMedia {
						list, err := media()
						at := slices.IndexFunc(list, func(v *redfish.VirtualMedia) bool { return v.ID == in.id })
						if err != nil || len(list) != len(slots) || at < 0 {
							t.Fatal(place, in.id, len(list), err)
						}
						return list[at]
					}
					url := "http://images/" + place + in.suffix
					if err := find().InsertMedia(url, true, true); err != nil {
						t.Fatal(err)
					}
					if v := find(); !v.Inserted || v.Image != url || !v.WriteProtected || len(v.MediaTypes) != len(in.mediaTypes) {
						t.Errorf("%s %s: it has %s (%v), write-protected %v, for %v", place, in.id, v.Image, v.Inserted, v.WriteProtected, v.MediaTypes)
					}
					if err := find().EjectMedia(); err != nil || m.Inserted[in.id] != "" {
						t.Errorf("%s %s: %v", place, in.id, err)
					}
				}
			}
			if m.On {
				t.Error("inserting started the machine")
			}
			if err := system.Reset(redfish.OnResetType); err != nil || m.starts[0].Target != Cd {
				t.Errorf("started as %+v: %v", m.starts, err)
			}
			for _, kind := range []redfish.ResetType{redfish.ForceRestartResetType, redfish.GracefulRestartResetType, redfish.NmiResetType, redfish.PowerCycleResetType, redfish.GracefulShutdownResetType, redfish.ForceOffResetType} {
				if err := system.Reset(kind); err != nil || m.actions[len(m.actions)-1] != Action(kind) {
					t.Errorf("%s: %v, %v", kind, err, m.actions)
				}
				if kind == redfish.GracefulShutdownResetType {
					m.On = true
				}
			}
		})
	}
}

// head is an answer without its body.
type head struct {
	StatusCode int
	Header     http.Header
}

// ask makes a request with the right password, and returns the answer and its body.
func ask(t *testing.T, s *httptest.Server, method, path, body string, headers ...string) (head, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("admin", testPassword)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := s.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return head{answer.StatusCode, answer.Header}, string(text)
}

func TestErrorsHaveExtendedInformation(t *testing.T) {
	_, s := newToy(t)
	server := serveRedfish(t, s)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
	}{
		"an unknown action":       {"POST", "/redfish/v1/Systems/w1/Actions/ComputerSystem.Reset", `{"ResetType":"Explode"}`, 400},
		"no JSON":                 {"POST", "/redfish/v1/Systems/w1/Actions/ComputerSystem.Reset", `{`, 400},
		"a machine that is off":   {"POST", "/redfish/v1/Systems/w1/Actions/ComputerSystem.Reset", `{"ResetType":"Nmi"}`, 409},
		"an unknown system":       {"GET", "/redfish/v1/Systems/w9", "", 404},
		"an unknown path":         {"GET", "/redfish/v1/Everything", "", 404},
		"an unknown drive":        {"GET", "/redfish/v1/Systems/w1/Storage/1/Drives/vdz", "", 404},
		"a method":                {"DELETE", "/redfish/v1/Systems/w1", "", 405},
		"a mode of other machine": {"PATCH", "/redfish/v1/Systems/w1", `{"Boot":{"BootSourceOverrideMode":"UEFI"}}`, 400},
		"an unknown property":     {"PATCH", "/redfish/v1/Systems/w1", `{"AssetTag":"x"}`, 400},
		"no image":                {"POST", "/redfish/v1/Systems/w1/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia", `{}`, 400},
		"a writable disc":         {"POST", "/redfish/v1/Systems/w1/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia", `{"Image":"http://a/b.iso","WriteProtected":false}`, 400},
		"no image of a stick":     {"POST", "/redfish/v1/Systems/w1/VirtualMedia/Usb/Actions/VirtualMedia.InsertMedia", `{}`, 400},
		"a writable stick":        {"POST", "/redfish/v1/Managers/w1/VirtualMedia/Usb/Actions/VirtualMedia.InsertMedia", `{"Image":"http://a/b.img","WriteProtected":false}`, 400},
		"a medium of no kind":     {"GET", "/redfish/v1/Systems/w1/VirtualMedia/Floppy", "", 404},
		"too much":                {"PATCH", "/redfish/v1/Systems/w1", `{"x":"` + strings.Repeat("y", largestBody) + `"}`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			answer, text := ask(t, server, c.method, c.path, c.body)
			var e struct {
				Error struct {
					Code, Message string
					Info          []struct{ MessageID, Message string } `json:"@Message.ExtendedInfo"`
				}
			}
			if err := json.Unmarshal([]byte(text), &e); err != nil || answer.StatusCode != c.status || e.Error.Code == "" || len(e.Error.Info) != 1 || e.Error.Info[0].Message == "" {
				t.Errorf("%d %s: %v", answer.StatusCode, text, err)
			}
		})
	}
}

func TestAChangeOfAnotherStateIsRefused(t *testing.T) {
	_, s := newToy(t)
	server := serveRedfish(t, s)
	answer, text := ask(t, server, "GET", "/redfish/v1/Systems/w1", "")
	tag := answer.Header.Get("ETag")
	if tag == "" || !strings.Contains(text, `"@odata.etag"`) {
		t.Fatalf("no tag: %s", text)
	}
	if answer, _ := ask(t, server, "GET", "/redfish/v1/Systems/w1", "", "If-None-Match", "W/"+tag); answer.StatusCode != http.StatusNotModified {
		t.Errorf("what is known is sent again: %d", answer.StatusCode)
	}
	if err := s.Reset(t.Context(), On); err != nil {
		t.Fatal(err)
	}
	if answer, _ := ask(t, server, "GET", "/redfish/v1/Systems/w1", "", "If-None-Match", tag); answer.StatusCode != http.StatusOK {
		t.Errorf("that it runs is not told: %d", answer.StatusCode)
	}
	const change = `{"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"Once"}}`
	if answer, text := ask(t, server, "PATCH", "/redfish/v1/Systems/w1", change, "If-Match", "W/"+tag); answer.StatusCode != http.StatusOK {
		t.Errorf("a weak tag of before it was switched is refused: %d %s", answer.StatusCode, text)
	}
	if answer, _ := ask(t, server, "PATCH", "/redfish/v1/Systems/w1", change, "If-Match", tag); answer.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("an old tag is taken: %d", answer.StatusCode)
	}
}

func TestASystemIsFoundByNameAndUUID(t *testing.T) {
	m, s := newToy(t)
	other, second := newToy(t)
	other.Name, other.UUID, second.ID = "w2", "5d0a2c1e-0000-4000-8000-000000000002", "two"
	server := serveRedfish(t, s, second)
	for _, id := range []string{"w1", m.UUID, strings.ToUpper(m.UUID), "w2", "two", other.UUID, "w1/"} {
		t.Run(id, func(t *testing.T) {
			if answer, text := ask(t, server, "GET", "/redfish/v1/Systems/"+id, ""); answer.StatusCode != http.StatusOK {
				t.Errorf("%d %s", answer.StatusCode, text)
			}
		})
	}
}

// TestEveryLinkLeadsSomewhere walks the service as clients do, and finds what the profile of OpenStack's Ironic (1.2.0) asks for.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	_, s := newToy(t)
	server := serveRedfish(t, s)
	docs := walk(t, func(path string) (int, string) {
		answer, text := ask(t, server, "GET", path, "")
		return answer.StatusCode, text
	})
	for _, missing := range missingOfIronic(docs, "w1") {
		t.Error("missing: " + missing)
	}
}

// walk reads all documents that can be reached from the root by links, and ends the test where one leads nowhere.
func walk(t *testing.T, get func(path string) (int, string)) map[string]object {
	t.Helper()
	docs := map[string]object{}
	var visit func(value any)
	read := func(path string) {
		path, _, _ = strings.Cut(path, "#")
		if path = strings.TrimSuffix(path, "/"); docs[path] != nil {
			return
		}
		status, text := get(path)
		doc := object{}
		if err := json.Unmarshal([]byte(text), &doc); err != nil || status != http.StatusOK {
			t.Errorf("%s: %d %s: %v", path, status, text, err)
			docs[path] = object{}
			return
		}
		docs[path] = doc
		visit(doc)
	}
	visit = func(value any) {
		switch value := value.(type) {
		case object:
			for key, inside := range value {
				if to, ok := inside.(string); ok && key == "@odata.id" {
					read(to)
					continue
				}
				visit(inside)
			}
		case []any:
			for _, inside := range value {
				visit(inside)
			}
		}
	}
	read(root)
	return docs
}

// missingOfIronic lists what the profile has as mandatory or recommended, and the documents have not.
func missingOfIronic(docs map[string]object, id string) (missing []string) {
	system, manager := root+"/Systems/"+id, root+"/Managers/"+id
	medium := []string{"Image", "Inserted", "MediaTypes", "WriteProtected", "Actions.#VirtualMedia.InsertMedia", "Actions.#VirtualMedia.EjectMedia"}
	for path, properties := range map[string][]string{
		root:                        {"Systems", "SessionService", "Tasks", "UpdateService", "RedfishVersion"},
		root + "/Systems":           {"Members"},
		system + "/SimpleStorage/1": {"Devices"},
		system: {"Boot.BootSourceOverrideEnabled", "Boot.BootSourceOverrideMode", "Boot.BootSourceOverrideTarget", "Links.ManagedBy", "Links.Chassis",
			"MemorySummary.TotalSystemMemoryGiB", "PowerState", "Actions.#ComputerSystem.Reset", "Bios", "BiosVersion", "EthernetInterfaces", "IndicatorLED",
			"Manufacturer", "Processors", "SecureBoot", "SimpleStorage", "Storage", "VirtualMedia"},
		manager:                          {"FirmwareVersion", "VirtualMedia"},
		system + "/Processors/CPU1":      {"ProcessorArchitecture", "TotalThreads"},
		system + "/SecureBoot":           {"SecureBootEnable", "Actions.#SecureBoot.ResetKeys"},
		system + "/VirtualMedia/Cd":      medium,
		system + "/VirtualMedia/Usb":     medium,
		manager + "/VirtualMedia/Cd":     medium,
		manager + "/VirtualMedia/Usb":    medium,
		root + "/Chassis/" + id:          {"Power", "Thermal"},
		root + "/TaskService":            {"Tasks"},
		system + "/Storage/1/Drives/vda": {"MediaType", "Protocol", "Status", "CapacityBytes", "Model", "Name"},
	} {
		for _, property := range properties {
			if !hasProperty(docs[path], property) {
				missing = append(missing, path+" "+property)
			}
		}
	}
	found := false
	for path, doc := range docs {
		if strings.HasPrefix(path, system+"/EthernetInterfaces/") {
			found = hasProperty(doc, "MACAddress") && hasProperty(doc, "Status.Health") && hasProperty(doc, "Status.State")
		}
	}
	if !found {
		missing = append(missing, "an interface with MACAddress and Status")
	}
	slices.Sort(missing)
	return missing
}

func hasProperty(doc object, property string) bool {
	first, rest, nested := strings.Cut(property, ".")
	if strings.HasPrefix(rest, "#") { // an action's name has a dot
		inside, _ := doc[first].(object)
		_, ok := inside[rest]
		return ok
	}
	value, ok := doc[first]
	if !nested || !ok {
		return ok
	}
	inside, _ := value.(object)
	return hasProperty(inside, rest)
}

func TestNobodyComesInWithoutAPassword(t *testing.T) {
	_, s := newToy(t)
	server := serveRedfish(t, s)
	status := func(path, user, password, token string) int {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if user != "" {
			request.SetBasicAuth(user, password)
		}
		if token != "" {
			request.Header.Set("X-Auth-Token", token)
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	for _, open := range []string{"/redfish", "/redfish/v1", "/redfish/v1/", "/redfish/v1/odata", "/redfish/v1/$metadata"} {
		t.Run(open, func(t *testing.T) {
			if got := status(open, "", "", ""); got != http.StatusOK {
				t.Errorf("it answers %d", got)
			}
		})
	}
	for name, c := range map[string][3]string{"nothing": {}, "a wrong password": {"admin", "wrong"}, "another user": {"root", testPassword}, "a made-up session": {2: "token"}} {
		t.Run(name, func(t *testing.T) {
			if got := status("/redfish/v1/Systems", c[0], c[1], c[2]); got != http.StatusUnauthorized {
				t.Errorf("it answers %d", got)
			}
		})
	}
}

func TestASessionEndsWhenItIsDeleted(t *testing.T) {
	_, s := newToy(t)
	server := serveRedfish(t, s)
	answer, text := ask(t, server, "POST", "/redfish/v1/SessionService/Sessions", `{"UserName":"admin","Password":"`+testPassword+`"}`)
	token, at := answer.Header.Get("X-Auth-Token"), answer.Header.Get("Location")
	if answer.StatusCode != http.StatusCreated || token == "" || at == "" {
		t.Fatalf("%d %s", answer.StatusCode, text)
	}
	by := func(method, path string) int {
		request, _ := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		request.Header.Set("X-Auth-Token", token)
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	if got := []int{by("GET", at), by("DELETE", at), by("GET", at)}; !slices.Equal(got, []int{200, 204, 401}) {
		t.Errorf("it answers %v", got)
	}
}

// FuzzRedfishBody has the service read a body of a client's.
func FuzzRedfishBody(f *testing.F) {
	f.Add(`{"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"Once"}}`, "If-Match")
	f.Add(`{"Boot":null,"IndicatorLED":"Lit"}`, `W/"x", *`)
	f.Add(`[1`, "")
	m := &toy{Description: Description{Name: "w1", UUID: "u"}}
	s := NewSystem("w1", m, f.TempDir(), slog.New(slog.DiscardHandler))
	hash, err := bcrypt.GenerateFromPassword([]byte(testPassword), bcrypt.MinCost)
	if err != nil {
		f.Fatal(err)
	}
	handler := newRedfish("u", []*System{s}, newAccess("admin", string(hash)), slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, body, tag string) {
		for path, method := range map[string]string{
			"": "PATCH", "/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia": "POST", "/VirtualMedia/Usb/Actions/VirtualMedia.InsertMedia": "POST",
		} {
			request := httptest.NewRequest(method, "/redfish/v1/Systems/w1"+path, strings.NewReader(body))
			request.SetBasicAuth("admin", testPassword)
			request.Header.Set("If-Match", tag)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code >= 500 || answer.Code == 0 {
				t.Errorf("%s of %q: %d %s", method, body, answer.Code, answer.Body)
			}
			if v, err := s.View(t.Context()); err != nil || !slices.Contains([]string{Disabled, Once, Continuous}, v.Boot.Enabled) {
				t.Errorf("after %q: %+v, %v", body, v.Boot, err)
			}
		}
	})
}

// TestTheCertificateIsChecked is what a client sees that knows nothing of the service's certificate.
func TestTheCertificateIsChecked(t *testing.T) {
	_, s := newToy(t)
	server := serveRedfish(t, s)
	_, err := (&http.Client{}).Get(server.URL + "/redfish/v1/") //nolint:bodyclose // there is none
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("%v", err)
	}
}
