package netboot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/unitprogram"
)

const mac = "52:54:00:aa:00:01"

// machine is a profile in a generation, as far as what is known of its machine goes.
func machine(generation int64) Profile { return Profile{MAC: mac, Generation: generation} }

// newService is a server of one profile, whose kernel and RAM disk are fetched from another one.
func newService(t *testing.T, change func(*Profile)) (s *service, server, upstream *httptest.Server) {
	t.Helper()
	upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("content of "+r.URL.Path))
	}))
	t.Cleanup(upstream.Close)
	known, err := openStates(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s = &service{states: known, upstream: upstream.Client(), log: log.New(io.Discard, "", 0)}
	p := Profile{
		Name: "worker-1", MAC: mac, Kernel: upstream.URL + "/kernel", Initrd: []string{upstream.URL + "/initrd"}, Cmdline: "console=ttyS0",
		Kind: "ignition", Files: map[string]string{"config.ign": "{}"}, Once: true, Generation: 1,
	}
	if change != nil {
		change(&p)
	}
	loaders := t.TempDir()
	if err := os.WriteFile(filepath.Join(loaders, "ipxe.efi"), bytes.Repeat([]byte("loader"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	s.config.Store(&Config{Server: Server{Address: netip.MustParseAddr("127.0.0.1"), Port: 8090, TFTP: true, Loaders: loaders}, Profiles: map[string]Profile{p.MAC: p}})
	server = httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server, upstream
}

// get is what a machine gets, and the status.
func get(t *testing.T, url string) (string, int) {
	t.Helper()
	resp, err := http.Get(url) //nolint:gosec // it is the test's
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", 0
	}
	return string(content), resp.StatusCode
}

const here = "/boot/52-54-00-AA-00-01"

func TestAMachineIsInstalledOnceAndBootsFromItsDiskFromThenOn(t *testing.T) {
	t.Parallel()
	s, server, _ := newService(t, nil)
	script, _ := get(t, server.URL+here+"/script.ipxe")
	for _, want := range []string{"#!ipxe\n", "kernel --name kernel http://127.0.0.1:8090/boot/52-54-00-aa-00-01/kernel initrd=initrd0 console=ttyS0 ignition.firstboot", "ignition.config.url=http://127.0.0.1:8090/boot/52-54-00-aa-00-01/config.ign", "initrd --name initrd0 ", "\nboot "} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(script, want) {
				t.Errorf("the script is\n%s", script)
			}
		})
	}
	for name, want := range map[string]string{"kernel": "content of /kernel", "initrd0": "content of /initrd"} {
		t.Run(name, func(t *testing.T) {
			if got, status := get(t, server.URL+here+"/"+name); got != want || status != http.StatusOK {
				t.Errorf("it is %q, %d", got, status)
			}
		})
	}
	if script, _ := get(t, server.URL+here+"/script.ipxe"); !strings.Contains(script, "kernel") {
		t.Errorf("one that has not had everything boots\n%s", script)
	}
	// It began anew, so what it had before is nothing.
	if get(t, server.URL+here+"/config.ign"); s.states.getRecord(machine(1)).Spent != nil {
		t.Error("the configuration alone installed it")
	}
	for _, name := range []string{"kernel", "initrd0"} {
		get(t, server.URL+here+"/"+name)
	}
	script, _ = get(t, server.URL+here+"/script.ipxe")
	if !strings.Contains(script, "installed: booting from disk") || strings.Contains(script, "kernel") {
		t.Errorf("one that is installed boots\n%s", script)
	}
	if _, status := get(t, server.URL+here+"/config.ign"); status != http.StatusOK {
		t.Errorf("an installer that tries once more gets %d", status)
	}
	again, err := openStates(s.states.directory)
	if err != nil || again.getRecord(machine(1)).Spent == nil {
		t.Errorf("after a restart it is %+v, %v", again.getRecord(machine(1)), err)
	}
	c := *s.config.Load()
	p := c.Profiles[mac]
	p.Generation = 2
	c.Profiles = map[string]Profile{mac: p}
	s.config.Store(&c)
	if script, _ := get(t, server.URL+here+"/script.ipxe"); !strings.Contains(script, "kernel") {
		t.Errorf("another generation boots\n%s", script)
	}
}

func TestFilesAreRefusedLongAfterwards(t *testing.T) {
	t.Parallel()
	s, server, _ := newService(t, nil)
	long := time.Now().Add(-2 * grace)
	if _, err := s.states.changeRecord(machine(1), func(r *Record) { r.Spent = &long }); err != nil {
		t.Fatal(err)
	}
	if text, status := get(t, server.URL+here+"/config.ign"); status != http.StatusGone || !strings.Contains(text, "generation") {
		t.Errorf("%d: %s", status, text)
	}
}

func TestOneThatReportsIsInstalledOnceItDoes(t *testing.T) {
	t.Parallel()
	s, server, _ := newService(t, func(p *Profile) { p.Reports = true; p.Cmdline = "report={report_url} config={file}" })
	script, _ := get(t, server.URL+here+"/script.ipxe")
	if !strings.Contains(script, "report=http://127.0.0.1:8090/boot/52-54-00-aa-00-01/installed config=http://127.0.0.1:8090/boot/52-54-00-aa-00-01/config.ign ||") || strings.Contains(script, "ignition.firstboot") {
		t.Errorf("the script is\n%s", script)
	}
	for _, name := range []string{"kernel", "initrd0", "config.ign"} {
		get(t, server.URL+here+"/"+name)
	}
	if s.states.getRecord(machine(1)).Spent != nil {
		t.Error("it is installed before it says so")
	}
	resp, err := http.Post(server.URL+here+"/installed", "", http.NoBody) //nolint:gosec // it is the test's
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %+v", err, resp)
	}
	_ = resp.Body.Close()
	if script, _ := get(t, server.URL+here+"/script.ipxe"); !strings.Contains(script, "booting from disk") {
		t.Errorf("then it boots\n%s", script)
	}
}

func TestOneThatBootsThisEachTimeDoes(t *testing.T) {
	t.Parallel()
	_, server, _ := newService(t, func(p *Profile) { p.Once = false; p.Kind, p.Files, p.Initrd = "", nil, nil })
	for range 2 {
		if script, _ := get(t, server.URL+here+"/script.ipxe"); !strings.Contains(script, "/kernel console=ttyS0 ||") {
			t.Errorf("it boots\n%s", script)
		}
		get(t, server.URL+here+"/kernel")
	}
}

func TestAStrangerBootsFromItsDiskAtOnce(t *testing.T) {
	t.Parallel()
	_, server, _ := newService(t, nil)
	if script, status := get(t, server.URL+"/boot/52-54-00-00-00-99/script.ipxe"); status != http.StatusOK || !strings.Contains(script, "sanboot") || !strings.HasSuffix(script, "\nexit 1\n") {
		t.Errorf("%d:\n%s", status, script)
	}
	for _, path := range []string{"/boot/52-54-00-00-00-99/kernel", here + "/other", here + "/initrd7", "/boot/x/script.ipxe", "/", "/../etc/passwd", "/boot/" + mac} {
		t.Run(path, func(t *testing.T) {
			if _, status := get(t, server.URL+path); status != http.StatusNotFound {
				t.Errorf("it answers %d", status)
			}
		})
	}
	if first, _ := get(t, server.URL+"/boot.ipxe"); !strings.Contains(first, "http://127.0.0.1:8090/boot/${netX/mac:hexhyp}/script.ipxe") {
		t.Errorf("the first script is\n%s", first)
	}
}

func TestAFileThatCannotBeHadIsNoFile(t *testing.T) {
	t.Parallel()
	s, server, upstream := newService(t, func(p *Profile) { p.Kernel = strings.TrimSuffix(p.Kernel, "/kernel") + "/missing" })
	if text, status := get(t, server.URL+here+"/kernel"); status != http.StatusBadGateway || !strings.Contains(text, "404") {
		t.Errorf("%d: %s", status, text)
	}
	upstream.Close()
	if _, status := get(t, server.URL+here+"/initrd0"); status != http.StatusBadGateway {
		t.Errorf("without its server it is %d", status)
	}
	if fetched := s.states.getRecord(machine(1)).Fetched; len(fetched) > 0 {
		t.Errorf("it has had %q", fetched)
	}
}

// TestPartsOfFilesCount has a machine fetch a file in two parts, and only the first part of another one.
func TestPartsOfFilesCount(t *testing.T) {
	t.Parallel()
	s, server, _ := newService(t, nil)
	part := func(name, bytes string) {
		t.Helper()
		req, _ := http.NewRequest(http.MethodGet, server.URL+here+"/"+name, http.NoBody)
		req.Header.Set("Range", "bytes="+bytes)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusPartialContent {
			t.Fatalf("%v, %+v", err, resp)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	part("kernel", "0-3")
	part("initrd0", "0-3")
	part("initrd0", "4-")
	if fetched := s.states.getRecord(machine(1)).Fetched; len(fetched) != 1 || fetched[0] != "initrd0" {
		t.Errorf("it has had %q", fetched)
	}
}

func TestPeersShareWhatTheyKnow(t *testing.T) {
	t.Parallel()
	one, server, _ := newService(t, nil)
	other, _, _ := newService(t, nil)
	meet := func(s *service, peers ...string) {
		c := *s.config.Load()
		c.Server.Peers = peers
		s.config.Store(&c)
	}
	address := strings.TrimPrefix(server.URL, "http://")
	if _, status := get(t, server.URL+"/state"); status != http.StatusForbidden {
		t.Errorf("a stranger gets %d", status)
	}
	meet(one, "127.0.0.1:1")
	meet(other, address)
	if _, err := one.states.changeRecord(machine(1), markInstalled); err != nil {
		t.Fatal(err)
	}
	other.takeRecords(t.Context(), other.config.Load())
	if other.states.getRecord(machine(1)).Spent == nil {
		t.Error("the other one does not know")
	}
	// What one pushes is kept, and what was spent stays so.
	stale := Record{MAC: mac, Generation: 1, Seen: time.Now().Add(time.Hour)}
	if _, err := other.config.Load().Server.exchangeRecords(t.Context(), address, []Record{stale}); err != nil {
		t.Fatal(err)
	}
	if r := one.states.getRecord(machine(1)); r.Spent == nil || !r.Seen.Equal(stale.Seen.UTC()) && r.Seen.Before(time.Now()) {
		t.Errorf("it is %+v", r)
	}
	later := Record{MAC: mac, Generation: 2, Seen: time.Now().Add(2 * time.Hour)}
	if err := one.states.mergeRecord(machine(2), later); err != nil || one.states.getRecord(machine(2)).Seen.IsZero() {
		t.Errorf("another generation: %v", err)
	}
	if err := one.states.mergeRecord(machine(2), stale); err != nil || one.states.getRecord(machine(2)).Seen.IsZero() {
		t.Errorf("an older one counts again: %v", err)
	}
	one.mergeAll(one.config.Load(), []Record{{MAC: "../x"}, {MAC: "52:54:00:00:00:99"}})
	if all := one.states.listRecords(); len(all) != 1 {
		t.Errorf("records of no machine of its own are kept: %+v", all)
	}
}

// TestAReloadKnowsWhatAPeerInstalledByTheNewProfile has a peer have been told of the next generation before, and have installed the machine in that.
func TestAReloadKnowsWhatAPeerInstalledByTheNewProfile(t *testing.T) {
	t.Parallel()
	peer, server, _ := newService(t, func(p *Profile) { p.Generation = 2 })
	s, _, _ := newService(t, nil)
	c := *peer.config.Load()
	c.Server.Peers = []string{"127.0.0.1:1"}
	peer.config.Store(&c)
	if _, err := peer.states.changeRecord(machine(2), markInstalled); err != nil {
		t.Fatal(err)
	}
	dir, told := t.TempDir(), s.config.Load().Server
	told.Peers = []string{strings.TrimPrefix(server.URL, "http://")}
	write := func(file string, v any) {
		content, err := unitprogram.Encode("Written by a test", v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(ServerFile, told)
	write(ProfileFile("worker-1"), c.Profiles[mac])
	if err := s.reloadConfig(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if r := s.states.getRecord(s.config.Load().Profiles[mac]); r.Generation != 2 || r.Spent == nil {
		t.Errorf("it knows %+v", r)
	}
}

func TestAConfigurationThatCannotBeServedIsRefused(t *testing.T) {
	t.Parallel()
	loaders := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(loaders, "ipxe.pxe"), []byte("x"), 0o600), os.WriteFile(filepath.Join(loaders, "snponly.efi"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	server := Server{Address: netip.MustParseAddr("127.0.0.1"), Port: 8090, TFTP: true, Loaders: loaders}
	for name, c := range map[string]struct {
		files map[string]any
		says  string
	}{
		"a server":                      {map[string]any{ServerFile: server, ProfileFile("a"): Profile{Name: "a", MAC: mac}}, ""},
		"no server":                     {map[string]any{ProfileFile("a"): Profile{Name: "a", MAC: mac}}, "there is no server.json"},
		"two profiles of one machine":   {map[string]any{ServerFile: server, ProfileFile("a"): Profile{Name: "a", MAC: mac}, ProfileFile("b"): Profile{Name: "b", MAC: mac}}, "the profiles a and b are both for " + mac},
		"a profile that a person broke": {map[string]any{ServerFile: server, ProfileFile("a"): map[string]int{"no_such": 1}}, ""},
		"no loaders":                    {map[string]any{ServerFile: Server{TFTP: true, Loaders: filepath.Join(loaders, "none")}}, "there is no ipxe.pxe in"},
		"no signed loaders":             {map[string]any{ServerFile: Server{TFTP: true, SecureBoot: true, Loaders: loaders}}, "there is no shimx64.efi in"},
		"no loaders, and no TFTP":       {map[string]any{ServerFile: Server{Loaders: filepath.Join(loaders, "none")}}, ""},
		"what nobody knows":             {map[string]any{ServerFile: map[string]int{"no_such": 1}}, "no_such"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, v := range c.files {
				content, err := unitprogram.Encode("Written by a test", v)
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, file), content, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			err := Main(t.Context(), []string{"-check", "-config", dir}, io.Discard)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// TestLoadersComeByTFTP has clients of RFC 1350 and of its options ask.
func TestLoadersComeByTFTP(t *testing.T) {
	t.Parallel()
	s, _, _ := newService(t, nil)
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() { _ = s.serveTFTP(socket) }()
	loader := strings.Repeat("loader", 1000)
	for name, c := range map[string]struct {
		file, options, accepted string
		block                   int
		want                    string
	}{
		"without options":       {"/ipxe.efi", "", "", tftpBlock, loader},
		"blocks of its own":     {"ipxe.efi", "blksize\x001024\x00tsize\x000\x00", "blksize\x001024\x00tsize\x006000\x00", 1024, loader},
		"blocks too large":      {"ipxe.efi", "blksize\x0065464\x00", "blksize\x001468\x00", tftpMostBlock, loader},
		"blocks that fit":       {"ipxe.efi", "blksize\x00600\x00", "blksize\x00600\x00", 600, loader},
		"the script":            {"boot.ipxe", "", "", tftpBlock, s.config.Load().Server.firstScript()},
		"a file of the machine": {"/../../etc/passwd", "", "", tftpBlock, "refused 1"},
		"a loader not there":    {"undionly.kpxe", "", "", tftpBlock, "refused 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, accepted := fetch(t, socket.LocalAddr(), c.file, c.options, c.block); got != c.want || accepted != c.accepted {
				t.Errorf("%d bytes with %q, want %d with %q", len(got), accepted, len(c.want), c.accepted)
			}
		})
	}
}

// fetch reads a file by TFTP, and returns it with the options that were accepted, or "refused" and the code. The first block is
// acknowledged late.
func fetch(t *testing.T, server net.Addr, name, options string, block int) (all, accepted string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.WriteTo([]byte("\x00\x01"+name+"\x00octet\x00"+options), server); err != nil {
		t.Fatal(err)
	}
	packet := make([]byte, 2000)
	for last := byte(0); ; {
		n, from, err := conn.ReadFrom(packet)
		if err != nil || n < 4 {
			t.Fatalf("%v: %x", err, packet[:n])
		}
		switch packet[1] {
		case tftpError:
			return fmt.Sprint("refused ", packet[3]), ""
		case tftpOACK:
			accepted = string(packet[2:n])
			_, _ = conn.WriteTo([]byte{0, tftpAck, 0, 0}, from)
			continue
		}
		if packet[3] != last+1 {
			continue // once more
		}
		if last++; last == 1 {
			time.Sleep(tftpFirstDelay + tftpFirstDelay/10)
		}
		all += string(packet[4:n])
		_, _ = conn.WriteTo([]byte{0, tftpAck, packet[2], packet[3]}, from)
		if n < 4+block {
			return all, accepted
		}
	}
}

func FuzzTFTPRequests(f *testing.F) {
	f.Add([]byte("\x00\x01ipxe.efi\x00octet\x00blksize\x001468\x00tsize\x000\x00"))
	f.Add([]byte("\x00\x02x\x00octet\x00"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		name, options, err := parseRead(packet)
		if err == nil && (name == "" || options == nil) {
			t.Errorf("%q, %v", name, options)
		}
	})
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	s, err := openStates(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.changeRecord(machine(3), markInstalled); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(s.directory, RecordFile(mac)))
	var r Record
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil || r.Generation != 3 || r.Spent == nil {
		t.Errorf("%v: %+v", err, r)
	}
	if err := os.WriteFile(filepath.Join(s.directory, RecordFile(mac)), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openStates(s.directory); err == nil {
		t.Error("what cannot be read is forgotten, and the machine would be installed again")
	}
	s.forgetRecord(mac)
	if _, err := os.Stat(filepath.Join(s.directory, RecordFile(mac))); err == nil || s.getRecord(machine(3)).Spent != nil {
		t.Error("what was forgotten is there")
	}
}

// TestTheProfileThatAPersonBrokeIsLeftOut has the machines of all others be served.
func TestTheProfileThatAPersonBrokeIsLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(ServerFile, `{"address": "127.0.0.1", "port": 8090}`)
	write(ProfileFile("a"), `{"name": "a", "mac": "`+mac+`"}`)
	write(ProfileFile("b"), `{"name": "b", "none": 1}`)
	write("other.json", "{")
	c, err := Load(dir)
	if err != nil || len(c.Profiles) != 1 || c.Profiles[mac].Name != "a" || len(c.Unread) != 1 || !strings.Contains(c.Unread[0].Error(), "profile-b.json") {
		t.Errorf("%v: %+v", err, c)
	}
}
