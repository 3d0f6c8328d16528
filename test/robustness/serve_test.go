package robustness

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// inNamespace runs do in a network namespace of the sandbox, on a thread that ends with it.
func inNamespace(name string, do func() error) error {
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is of no use to anybody else
		file, err := os.Open("/run/netns/" + name)
		if err == nil {
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			_ = file.Close()
		}
		if err == nil {
			err = do()
		}
		ended <- err
	}()
	return <-ended
}

// Ports of what answers on the service nodes with who it is.
const (
	targetPort = 7001 // a guest that states expose
	personPort = 7002 // what a person's rules lead to
)

// answer has a machine say its name on two ports, and returns what stops that.
func answer(machine string) (stop func(), err error) {
	var listeners []net.Listener
	for port, text := range map[int]string{targetPort: machine, personPort: "person-" + machine} {
		var l net.Listener
		err := inNamespace(machine, func() (err error) {
			l, err = net.Listen("tcp4", fmt.Sprintf(":%d", port)) //nolint:noctx // there is nothing to wait for
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", machine, err)
		}
		listeners = append(listeners, l)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, text)
				_ = c.Close()
			}
		}()
	}
	return func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}, nil
}

// kernelURL is what machines would boot: the sandbox itself serves it.
const kernelURL = "http://10.0.100.254:7003/kernel"

// serveKernel serves kernelURL, and returns what stops that.
func serveKernel() (stop func(), err error) {
	l, err := net.Listen("tcp4", "10.0.100.254:7003") //nolint:noctx // there is nothing to wait for
	if err != nil {
		return nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "kernel") })}
	go func() { _ = server.Serve(l) }()
	return func() { _ = server.Close() }, nil
}

// clientOf is the address of the LAN's client to which a machine's guests answer by way of that machine: it is their gateway.
func clientOf(machine string) string { return "10.19.41.5" + strings.TrimPrefix(machine, "svc-") }

const askTime = 2 * time.Second

// askServed asks what the things among these that are served answer: ports, HTTP and DNS.
func askServed(ctx context.Context, things []string) map[string]string {
	for _, machine := range machines {
		for zone := range 3 {
			things = append(things, fmt.Sprintf("%s dns x.z%d.example", machine, zone))
		}
		for n := range 2 {
			things = append(things, fmt.Sprintf("%s content %d/v2/", machine, 5000+n), fmt.Sprintf("%s content 8080/w%d", machine, n), fmt.Sprintf("%s content 8081/w%d", machine, n))
		}
	}
	for n := range 3 {
		if len(farMachines()) > 0 {
			things = append(things, fmt.Sprintf("%s redfish %d", persons, 8400+n), fmt.Sprintf("%s ipmi %d", persons, 6230+n))
		}
	}
	slices.Sort(things)
	all := map[string]string{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, thing := range slices.Compact(things) {
		machine, rest, _ := strings.Cut(thing, " ")
		word, where, _ := strings.Cut(rest, " ")
		i := slices.Index(machines, machine)
		ask := map[string]func() string{
			"open": func() string { // what the machine answers itself, nobody leads elsewhere
				answer := connect(clientOf(machine), where)
				if strings.TrimPrefix(answer, "person-") == machine {
					return ""
				}
				return answer
			},
			"http": func() string { return get("http://" + addressOf(i) + ":" + where + "/") },
			"content": func() string {
				answer := get("http://" + addressOf(i) + ":" + where)
				if strings.HasPrefix(answer, "404 ") {
					return ""
				}
				return answer
			},
			"dns":     func() string { return resolve(ctx, addressOf(i), where) },
			"redfish": func() string { return findSystem(ctx, where) },
			"ipmi":    func() string { return askPower(ctx, where) },
		}[word]
		if ask == nil {
			continue
		}
		group.Go(func() {
			answer := ask()
			mu.Lock()
			defer mu.Unlock()
			all[thing] = answer
		})
	}
	group.Wait()
	return all
}

// connect returns what a port says to a client of the LAN, "" where nobody does.
func connect(from, to string) (text string) {
	_ = inNamespace("lan-client", func() error {
		d := net.Dialer{Timeout: askTime, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp4", to) //nolint:noctx // it has a time limit
		if err != nil {
			return err
		}
		defer c.Close() //nolint:errcheck // it was read
		_ = c.SetDeadline(time.Now().Add(askTime))
		out, err := io.ReadAll(io.LimitReader(c, 100))
		text = string(out)
		return err
	})
	return text
}

func get(url string) string {
	client := http.Client{Timeout: askTime, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url) //nolint:noctx // it has a time limit
	if err != nil {
		return ""
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 100))
	return strings.TrimSpace(string(text))
}

func resolve(ctx context.Context, server, name string) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server+":53")
	}}
	found, err := r.LookupIP(ctx, "ip4", name+".")
	if err != nil {
		return ""
	}
	var all []string
	for _, ip := range found {
		all = append(all, ip.String())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// findSystem returns what the controller at a port of the first further hypervisor calls its machine, "" where none answers.
func findSystem(ctx context.Context, port string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+acctest.Address(persons)+":"+port+"/redfish/v1/Systems", nil)
	if err != nil {
		return ""
	}
	request.SetBasicAuth("admin", secret[:8])
	client := http.Client{Timeout: askTime, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // it shows a certificate that nobody signed
	answer, err := client.Do(request)
	if err != nil {
		return ""
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	var systems struct {
		Members []struct {
			Path string `json:"@odata.id"`
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&systems); err != nil || len(systems.Members) != 1 {
		return answer.Status
	}
	return path.Base(systems.Members[0].Path)
}

// askPower returns what ipmitool says of the power of the machine whose controller is at a port there, "" where none answers.
func askPower(ctx context.Context, port string) string {
	if isRefused(net.JoinHostPort(acctest.Address(persons), port)) {
		return "" // ipmitool would ask again and again, for seconds
	}
	out, err := acctest.Try(ctx, "hypervisor", "ipmitool", "-I", "lanplus", "-N", "1", "-R", "2", "-H", acctest.Address(persons), "-p", port, "-U", "admin", "-P", secret[:8], "power", "status")
	if err != nil {
		return ""
	}
	return out
}

// presencePing asks whoever manages a machine whether it is there (ASF 2.0, 3.2.4.1).
var presencePing = []byte{6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 0, 0, 0}

// isRefused says whether a machine answers that nobody listens at a port of UDP.
func isRefused(address string) bool {
	c, err := net.DialTimeout("udp4", address, askTime) //nolint:noctx // it has a time limit
	if err != nil {
		return false
	}
	defer c.Close() //nolint:errcheck // it was asked
	_ = c.SetDeadline(time.Now().Add(askTime))
	if _, err := c.Write(presencePing); err != nil {
		return false
	}
	_, err = c.Read(make([]byte, 100))
	return errors.Is(err, unix.ECONNREFUSED)
}
