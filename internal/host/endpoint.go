package host

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Scheme is a way to reach a machine.
type Scheme string

// The schemes.
const (
	SSH   Scheme = "ssh"
	Local Scheme = "local"
	Agent Scheme = "qemu-ga"
)

// Endpoint is how a machine is reached: ssh://[user@]host[:port][?proxy_jump=…&host_key=…], local: or
// qemu-ga://[hypervisor]/domain.
type Endpoint struct {
	Scheme Scheme
	// User, Port (0 means not named) and ProxyJump are SSH's; Host is a name or an address for SSH, and a
	// hypervisor by its name in the provider's `hypervisors` for the guest agent.
	User, Host string
	Port       int
	ProxyJump  string
	// HostKey is what the fingerprint of the machine's host key must begin with; "" where the endpoint does not say.
	HostKey Pin
	// Domain is the virtual machine that the guest agent runs in.
	Domain string
}

// ParseEndpoint reads an endpoint, or the id of a service node, which is one with a host key.
func ParseEndpoint(text string) (Endpoint, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint %q: %w", text, errors.Unwrap(err))
	}
	var e Endpoint
	switch Scheme(u.Scheme) {
	case SSH:
		e, err = parseSSH(u)
	case Local:
		e = Endpoint{Scheme: Local}
		if u.Opaque != "" || u.Host != "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			err = errors.New(`"local:" takes nothing after the colon`)
		}
	case Agent:
		e = Endpoint{Scheme: Agent, Host: u.Host, Domain: strings.TrimPrefix(u.Path, "/")}
		if e.Domain == "" || strings.Contains(e.Domain, "/") || u.RawQuery != "" || u.User != nil {
			err = errors.New("write qemu-ga:///DOMAIN, or qemu-ga://HYPERVISOR/DOMAIN with a name of the provider's hypervisors")
		}
	default:
		err = errors.New("write ssh://[user@]host[:port], local: or qemu-ga://[hypervisor]/domain")
	}
	if err == nil && u.Fragment != "" {
		err = errors.New("an endpoint has no part after #")
	}
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint %q: %w", text, err)
	}
	return e, nil
}

func parseSSH(u *url.URL) (Endpoint, error) {
	e := Endpoint{Scheme: SSH, Host: canonicalHost(u.Hostname())}
	if e.Host == "" || strings.HasPrefix(e.Host, "-") || strings.ContainsAny(e.Host, " \t'\"\\") {
		return e, errors.New("write ssh://[user@]host[:port]")
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			return e, errors.New("a password does not belong into an endpoint; use a key or the agent")
		}
		e.User = u.User.Username()
	}
	if strings.Trim(u.Path, "/") != "" || u.Opaque != "" {
		return e, fmt.Errorf("there is no path in ssh://[user@]host[:port]: %q", u.Path)
	}
	if port := u.Port(); port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return e, fmt.Errorf("%q is no port", port)
		}
		e.Port = n
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return e, err
	}
	for key, values := range query {
		switch {
		case len(values) != 1:
			return e, fmt.Errorf("%s is given twice", key)
		case key == "proxy_jump":
			e.ProxyJump = values[0]
		case key == "host_key":
			// A plus sign that was not escaped arrives as a space.
			if e.HostKey, err = ParsePin(strings.ReplaceAll(values[0], " ", "+")); err != nil {
				return e, fmt.Errorf("host_key %q: %w", values[0], err)
			}
		default:
			return e, fmt.Errorf("unknown parameter %q: an endpoint has proxy_jump and host_key", key)
		}
	}
	return e, nil
}

func canonicalHost(name string) string {
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.String()
	}
	return strings.ToLower(name)
}

// String is the canonical form: two spellings of one endpoint have one.
func (e Endpoint) String() string {
	switch e.Scheme {
	case Local:
		return "local:"
	case Agent:
		return "qemu-ga://" + e.Host + "/" + e.Domain
	}
	u := url.URL{Scheme: "ssh", Host: e.Host}
	if strings.Contains(e.Host, ":") {
		u.Host = "[" + e.Host + "]"
	}
	if e.Port != 0 && e.Port != 22 {
		u.Host = net.JoinHostPort(e.Host, strconv.Itoa(e.Port))
	}
	if e.User != "" {
		u.User = url.User(e.User)
	}
	var query []string
	if e.HostKey != "" {
		query = append(query, "host_key="+string(e.HostKey))
	}
	if e.ProxyJump != "" {
		query = append(query, "proxy_jump="+plainQuery.Replace(url.QueryEscape(e.ProxyJump)))
	}
	u.RawQuery = strings.Join(query, "&")
	return u.String()
}

// plainQuery takes escapes away that a query does without (RFC 3986 section 3.4). A slash keeps its own: a list of references
// is taken apart where "ssh://" begins.
var plainQuery = strings.NewReplacer("%40", "@", "%3A", ":", "%2C", ",")

// Machine names the machine in messages: "root@10.0.0.100", "localhost", "okd-service-01". The way is part
// of the name: behind two gateways there may be two machines with one address.
func (e Endpoint) Machine() string {
	switch e.Scheme {
	case Local:
		return "localhost"
	case Agent:
		if e.Host != "" {
			return e.Domain + " on " + e.Host
		}
		return e.Domain
	}
	name := e.Host
	if e.Port != 0 && e.Port != 22 {
		name = net.JoinHostPort(e.Host, strconv.Itoa(e.Port))
	}
	if e.User != "" {
		name = e.User + "@" + name
	}
	if e.ProxyJump != "" {
		name += " through " + e.ProxyJump
	}
	return name
}

// Hop is one machine to jump through.
type Hop struct {
	User, Host string
	Port       int
}

// ParseJump reads a list of hops as OpenSSH's ProxyJump takes it: [user@]host[:port] or ssh://…, separated
// by commas. "none" and "" are no hops.
func ParseJump(text string) ([]Hop, error) {
	if text == "" || strings.EqualFold(text, "none") {
		return nil, nil
	}
	var hops []Hop
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if !strings.HasPrefix(part, "ssh://") {
			part = "ssh://" + part
		}
		e, err := ParseEndpoint(part)
		if err != nil || e.ProxyJump != "" || e.HostKey != "" {
			return nil, fmt.Errorf("proxy_jump %q: write [user@]host[:port], several separated by commas", text)
		}
		hops = append(hops, Hop{User: e.User, Host: e.Host, Port: e.Port})
	}
	return slices.Clip(hops), nil
}

// String is the hop as ParseJump reads it: with its port where that was written, as ~/.ssh/config may have another one, and an IPv6 address in
// brackets.
func (h Hop) String() string {
	name := h.Host
	switch {
	case h.Port != 0:
		name = net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
	case strings.Contains(h.Host, ":"):
		name = "[" + h.Host + "]"
	}
	if h.User != "" {
		name = h.User + "@" + name
	}
	return name
}
