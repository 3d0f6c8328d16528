package netboot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// grace is how long a machine may still fetch files after it had all of them: an installer tries again what broke on its side.
const grace = 10 * time.Minute

// service is the program's state while it runs. The configuration is replaced as a whole.
type service struct {
	config   atomic.Pointer[Config]
	states   *states
	upstream *http.Client
	// neighbours is the file in which the kernel has the addresses of who is on its segments, as proc(5) has it for /proc/net/arp.
	neighbours string
	log        *log.Logger
}

// ServeHTTP answers machines, and peers.
//
//	/boot.ipxe                 what iPXE is told by DHCP
//	/grub/grub.cfg             what GRUB fetches by itself, under Secure Boot
//	/LOADER                    for UEFI that boots by HTTP, without a redirect
//	/boot.img                  for that under Secure Boot: the disc of the machine that asks
//	/boot/MAC/script.ipxe      what the machine boots now
//	/boot/MAC/grub.cfg         the same for GRUB
//	/boot/MAC/boot.img         the same as a disc, with all that GRUB would fetch
//	/boot/MAC/FILE             kernel, initrd0…, and its configuration
//	/boot/MAC/installed        it says that it is installed, by any method
//	/state                     what peers know, and what they POST
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := s.config.Load()
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/") // shim asks for //grubx64.efi, and follows no redirect
	switch {
	case !mayAskBy(r.Method, name): // the method is passed on to where files are fetched from
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this is only to be read", http.StatusMethodNotAllowed)
	case name == "state":
		s.serveState(w, r, c)
	case name == "boot.ipxe":
		serveText(w, r, c.Server.firstScript())
	case name == "grub/grub.cfg" && c.Server.SecureBoot:
		serveText(w, r, firstGrub)
	case name == discName && c.Server.SecureBoot:
		s.serveMachine(w, r, c, s.findNeighbour(r.RemoteAddr), discName)
	case c.Server.findLoader(name) != "":
		http.ServeFile(w, r, c.Server.findLoader(name))
	default:
		words := strings.Split(name, "/")
		if mac := CanonicalMAC(words[min(1, len(words)-1)]); len(words) == 3 && words[0] == "boot" && mac != "" {
			s.serveMachine(w, r, c, mac, words[2])
			return
		}
		http.NotFound(w, r)
	}
}

// mayAskBy says whether something may be asked for by a method.
func mayAskBy(method, name string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodPost && name == "state" || path.Base(name) == "installed"
}

func serveText(w http.ResponseWriter, r *http.Request, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

// serveMachine answers one machine. One that nobody knows is told to boot from its disk, at once: silence would cost it a minute.
func (s *service) serveMachine(w http.ResponseWriter, r *http.Request, c *Config, mac, name string) {
	p, known := c.Profiles[mac]
	if !known {
		s.log.Printf("%s %s: no profile", cmp.Or(mac, r.RemoteAddr), name)
		if d, is := dialects[name]; is {
			serveText(w, r, d.local("no profile for "+mac))
			return
		}
		http.NotFound(w, r)
		return
	}
	now := s.states.getRecord(p)
	switch {
	case dialects[name].own != nil:
		s.serveScript(w, r, c, p, now, name)
	case name == discName && c.Server.SecureBoot:
		s.serveDisc(w, r, c.Server, p, now)
	case name == "installed":
		s.recordAsked(w, p, name, func(rec *Record) { markInstalled(rec) }, func() { serveText(w, r, "installed\n") })
	case p.Once && now.Spent != nil && time.Since(*now.Spent) > grace:
		s.log.Printf("%s %s: installed, refused", mac, name)
		http.Error(w, mac+" is installed since "+now.Spent.Format(time.RFC3339)+": change the generation of its profile to install it again", http.StatusGone)
	default:
		s.serveFile(w, r, p, name)
	}
}

func (s *service) serveScript(w http.ResponseWriter, r *http.Request, c *Config, p Profile, now Record, name string) {
	if p.Once && now.Spent != nil {
		s.recordAsked(w, p, name, func(*Record) {}, func() { serveText(w, r, dialects[name].local(p.Name+" is installed")) })
		return
	}
	s.recordAsked(w, p, name, func(rec *Record) { rec.Fetched = nil }, func() { serveText(w, r, dialects[name].own(p, c.Server)) })
}

// recordAsked changes the machine's record, and answers once that is on disk.
func (s *service) recordAsked(w http.ResponseWriter, p Profile, asked string, change func(*Record), answer func()) {
	_, err := s.states.changeRecord(p, func(rec *Record) {
		rec.Asked = asked
		change(rec)
	})
	s.log.Printf("%s %s %s", p.MAC, p.Name, asked)
	if err != nil {
		s.log.Printf("%s %s: %v", p.MAC, asked, err)
		http.Error(w, "cannot keep what is known of the machine: "+err.Error(), http.StatusInternalServerError)
		return
	}
	answer()
}

func markInstalled(rec *Record) {
	if rec.Spent == nil {
		now := time.Now().UTC()
		rec.Spent = &now
	}
}

// serveFile answers with a file of the profile, and notes it once the machine has had it to its end.
func (s *service) serveFile(w http.ResponseWriter, r *http.Request, p Profile, name string) {
	whole := &wholeWriter{ResponseWriter: w}
	text, is := p.Files[name]
	switch {
	case is:
		serveText(whole, r, text)
	case name == "kernel":
		s.proxyFile(whole, r, p.Kernel)
	case strings.HasPrefix(name, "initrd"):
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "initrd")); err == nil && n >= 0 && n < len(p.Initrd) {
			s.proxyFile(whole, r, p.Initrd[n])
			break
		}
		http.NotFound(w, r)
		return
	default:
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet || !whole.isWhole() {
		return
	}
	s.recordFetched(p, name, name)
}

// recordFetched notes that the machine has had files, by what it asked for.
func (s *service) recordFetched(p Profile, asked string, names ...string) {
	rec, err := s.states.changeRecord(p, func(rec *Record) {
		rec.Asked, rec.Fetched = asked, append(rec.Fetched, names...)
		if p.Once && !p.Reports && p.hasFetchedAll(rec.Fetched) {
			markInstalled(rec)
		}
	})
	if err != nil {
		s.log.Printf("%s %s: %v", p.MAC, asked, err)
	}
	for _, name := range names {
		s.log.Printf("%s %s %s, installed %t", p.MAC, p.Name, name, rec.Spent != nil)
	}
}

// proxyFile fetches a URL and passes it on as it comes.
func (s *service) proxyFile(w http.ResponseWriter, r *http.Request, url string) {
	resp, err := s.askUpstream(r, url, r.Header.Get("Range"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	for _, header := range []string{"Content-Length", "Content-Range", "Accept-Ranges", "Last-Modified"} {
		if v := resp.Header.Get(header); v != "" {
			w.Header().Set(header, v)
		}
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, resp.Body); err != nil {
		s.log.Printf("%s: %v", url, err)
		panic(http.ErrAbortHandler) // or the machine would take what it has for all of it
	}
}

// askUpstream asks for a URL by the method that a machine asked by, and for a part where one is named. Its error says, and the log too, why
// there is nothing to pass on.
func (s *service) askUpstream(r *http.Request, url, part string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	if part != "" {
		req.Header.Set("Range", part)
	}
	resp, err := s.upstream.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
		_ = resp.Body.Close()
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	if err != nil {
		s.log.Print(err)
		return nil, err
	}
	return resp, nil
}

// wholeWriter sees whether an answer came to the end of its file.
type wholeWriter struct {
	http.ResponseWriter
	status  int
	written int64
}

// WriteHeader implements http.ResponseWriter.
func (w *wholeWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *wholeWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.written += int64(n)
	return n, err
}

// isWhole says whether the last byte of the file was written, be it as the end of a part.
func (w *wholeWriter) isWhole() bool {
	length, err := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64)
	if err == nil && length != w.written {
		return false
	}
	if w.status == http.StatusPartialContent {
		var first, last, size int64
		_, err := fmt.Sscanf(w.Header().Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &size)
		return err == nil && last == size-1
	}
	return w.status == http.StatusOK
}

// stateLimit bounds what a peer may say.
const stateLimit = 16 << 20

// serveState tells peers what is known, and takes what they know.
func (s *service) serveState(w http.ResponseWriter, r *http.Request, c *Config) {
	if !isPeer(c.Server.Peers, r.RemoteAddr) {
		http.Error(w, "this is for peers", http.StatusForbidden)
		return
	}
	if r.Method == http.MethodPost {
		var all []Record
		if err := json.NewDecoder(io.LimitReader(r.Body, stateLimit)).Decode(&all); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mergeAll(c, all)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.states.listRecords())
}

func isPeer(peers []string, remote string) bool {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	for _, peer := range peers {
		if at, err := netip.ParseAddrPort(peer); err == nil && at.Addr() == from.Addr().Unmap() {
			return true
		}
	}
	return false
}

// mergeAll takes what peers know, of machines that have a profile in a configuration: another one of a machine is not to count as installed.
func (s *service) mergeAll(c *Config, all []Record) {
	for _, r := range all {
		p, known := c.Profiles[r.MAC]
		if !known {
			continue
		}
		if err := s.states.mergeRecord(p, r); err != nil {
			s.log.Printf("%s: %v", r.MAC, err)
		}
	}
}

// tellPeers pushes a record to the peers; one that does not answer asks for it itself later.
func (s *service) tellPeers(r Record) {
	server := s.config.Load().Server
	for _, peer := range server.Peers {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), peerTimeout)
			defer cancel()
			if _, err := server.exchangeRecords(ctx, peer, []Record{r}); err != nil {
				s.log.Printf("tell %s: %v", peer, err)
			}
		}()
	}
}

// peerTimeout is how long a peer may take, and peerInterval how often it is asked.
const (
	peerTimeout  = 2 * time.Second
	peerInterval = 5 * time.Second
)

// takeRecords takes what the peers of a configuration know of the machines that have a profile in it.
func (s *service) takeRecords(ctx context.Context, c *Config) {
	var all []Record
	for _, peer := range c.Server.Peers {
		asking, cancel := context.WithTimeout(ctx, peerTimeout)
		known, err := c.Server.exchangeRecords(asking, peer, nil)
		if err != nil && ctx.Err() == nil {
			s.log.Printf("ask %s: %v", peer, err)
		}
		cancel()
		all = append(all, known...)
	}
	s.mergeAll(c, all)
}

// exchangeRecords tells a peer records, or asks it for its own where there is nothing to tell.
func (s Server) exchangeRecords(ctx context.Context, peer string, tell []Record) (known []Record, err error) {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if tell != nil {
		content, err := json.Marshal(tell)
		if err != nil {
			return nil, err
		}
		method, body = http.MethodPost, strings.NewReader(string(content))
	}
	// From the address that the peer knows this server by.
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: s.Address.AsSlice()}}
	client := &http.Client{Transport: &http.Transport{DialContext: from.DialContext, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+peer+"/state", body)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	if tell != nil {
		return nil, nil
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, stateLimit)).Decode(&known)
	return known, err
}
