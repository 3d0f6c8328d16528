package dnslookup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// question is what is asked, from where.
type question struct {
	server   netip.AddrPort
	name     string
	rrType   uint16
	protocol string
	// from is the source address; the zero value leaves it to the machine.
	from      netip.Addr
	recursion bool
	timeout   time.Duration
}

// answer is what came back.
type answer struct {
	rcode         string
	authoritative bool
	records       []record
}

// record is one of the answer section.
type record struct {
	name, rrType, value string
	ttl                 uint32
}

// askServer asks from the machine that the provider runs on. A truncated answer is asked for again over TCP.
func askServer(ctx context.Context, q question) (answer, error) {
	msg := new(dns.Msg)
	msg.SetQuestion(q.name, q.rrType)
	msg.RecursionDesired = q.recursion
	msg.SetEdns0(1232, false)
	client := &dns.Client{Net: q.protocol, Timeout: q.timeout, Dialer: &net.Dialer{Timeout: q.timeout, LocalAddr: q.localAddress(q.protocol)}}
	reply, _, err := client.ExchangeContext(ctx, msg, q.server.String())
	if err == nil && reply.Truncated && q.protocol == "udp" {
		client.Net, client.Dialer.LocalAddr = "tcp", q.localAddress("tcp")
		reply, _, err = client.ExchangeContext(ctx, msg, q.server.String())
	}
	if err != nil {
		return answer{}, err
	}
	return readAnswer(reply.Rcode, reply.Authoritative, reply.Answer), nil
}

func (q question) localAddress(protocol string) net.Addr {
	switch {
	case !q.from.IsValid():
		return nil
	case protocol == "tcp":
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(q.from, 0))
	}
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(q.from, 0))
}

func readAnswer(rcode int, authoritative bool, section []dns.RR) answer {
	a := answer{rcode: dns.RcodeToString[rcode], authoritative: authoritative}
	for _, rr := range section {
		h := rr.Header()
		a.records = append(a.records, record{
			name: dns.CanonicalName(h.Name), rrType: dns.Type(h.Rrtype).String(), ttl: h.Ttl, value: recordData(rr),
		})
	}
	return a
}

// recordData is a record's data as in a zone file; TXT data is the text itself.
func recordData(rr dns.RR) string {
	if txt, ok := rr.(*dns.TXT); ok {
		return strings.Join(txt.Txt, "")
	}
	return strings.TrimPrefix(rr.String(), rr.Header().String())
}

// askOn asks from another machine, with the dig that is there.
func askOn(ctx context.Context, h host.Host, q question) (answer, error) {
	argv := []string{
		"dig", "@" + q.server.Addr().String(), "-p", strconv.Itoa(int(q.server.Port())), "+noall", "+comments", "+answer", "+tries=1",
		"+time=" + strconv.Itoa(max(1, int(q.timeout.Seconds()))),
	}
	if q.protocol == "tcp" {
		argv = append(argv, "+tcp")
	}
	if !q.recursion {
		argv = append(argv, "+norecurse")
	}
	if q.from.IsValid() {
		argv = append(argv, "-b", q.from.String())
	}
	out, err := h.Run(ctx, host.Cmd{Argv: append(argv, "-t", dns.Type(q.rrType).String(), "-q", q.name)})
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit) && exit.Code == 127:
		return answer{}, fmt.Errorf("there is no dig on %s; install bind9-dnsutils (Debian) or bind-utils (Fedora)", h)
	case errors.As(err, &exit) && exit.Code == 9:
		return answer{}, fmt.Errorf("no answer from %s within %s", q.server, q.timeout)
	case err != nil:
		return answer{}, err
	}
	return parseDig(string(out))
}

// parseDig reads dig's output: comments with the status and the flags, then the answer section.
func parseDig(out string) (answer, error) {
	_, status, ok := strings.Cut(out, "status: ")
	if !ok {
		return answer{}, fmt.Errorf("dig gave no answer: %s", strings.TrimSpace(out))
	}
	rcode, _, _ := strings.Cut(status, ",")
	_, flags, _ := strings.Cut(out, ";; flags: ")
	flags, _, _ = strings.Cut(flags, ";")
	var section []dns.RR
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, ";") {
			continue
		}
		rr, err := dns.NewRR(line)
		if err != nil {
			return answer{}, fmt.Errorf("dig's answer %q: %w", line, err)
		}
		section = append(section, rr)
	}
	return readAnswer(dns.StringToRcode[rcode], slices.Contains(strings.Fields(flags), "aa"), section), nil
}
