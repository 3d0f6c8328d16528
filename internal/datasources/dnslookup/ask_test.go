package dnslookup

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// serve answers on one port over UDP and TCP; over UDP the answer for "long." is cut.
func serve(t *testing.T) netip.AddrPort {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	streams, err := net.Listen("tcp", packets.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		reply := new(dns.Msg)
		reply.SetReply(q)
		reply.Authoritative = true
		_, udp := w.RemoteAddr().(*net.UDPAddr)
		switch q.Question[0].Name {
		case "alias.":
			reply.Answer = records(t, "alias. 60 IN CNAME Host.", "host. 30 IN A 10.0.0.2", "host. 30 IN A 10.0.0.1")
		case "long.":
			reply.Truncated = udp
			if !udp {
				reply.Answer = records(t, `long. 60 IN TXT "one" "two"`)
			}
		case "from.":
			from, _, _ := net.SplitHostPort(w.RemoteAddr().String())
			reply.Answer = records(t, "from. 60 IN A "+from)
		default:
			reply.Rcode = dns.RcodeNameError
		}
		_ = w.WriteMsg(reply)
	})
	for _, s := range []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: streams, Handler: handler}} {
		go func() { _ = s.ActivateAndServe() }()
		t.Cleanup(func() { _ = s.Shutdown() })
	}
	return netip.MustParseAddrPort(packets.LocalAddr().String())
}

func records(t *testing.T, lines ...string) []dns.RR {
	var all []dns.RR
	for _, line := range lines {
		rr, err := dns.NewRR(line)
		if err != nil {
			t.Error(err)
		}
		all = append(all, rr)
	}
	return all
}

func TestAsk(t *testing.T) {
	t.Parallel()
	q := question{server: serve(t), rrType: dns.TypeA, protocol: "udp", timeout: 5 * time.Second}
	for name, c := range map[string]struct {
		change func(q *question)
		want   answer
	}{
		"alias.": {func(*question) {}, answer{"NOERROR", true, []record{
			{"alias.", "CNAME", "Host.", 60}, {"host.", "A", "10.0.0.2", 30}, {"host.", "A", "10.0.0.1", 30},
		}}},
		"long.": {func(q *question) { q.rrType = dns.TypeTXT }, answer{"NOERROR", true, []record{{"long.", "TXT", "onetwo", 60}}}},
		"from.": {func(q *question) { q.from = netip.MustParseAddr("127.0.0.7"); q.protocol = "tcp" }, answer{"NOERROR", true, []record{{"from.", "A", "127.0.0.7", 60}}}},
		"none.": {func(*question) {}, answer{"NXDOMAIN", true, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := q
			asked.name = name
			c.change(&asked)
			got, err := askServer(t.Context(), asked)
			if err != nil || got.rcode != c.want.rcode || got.authoritative != c.want.authoritative || !slices.Equal(got.records, c.want.records) {
				t.Errorf("%s: %+v, error %v", name, got, err)
			}
		})
	}
}

func TestDigIsRead(t *testing.T) {
	t.Parallel()
	got, err := parseDig(";; Got answer:\n;; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: 1\n;; flags: qr aa rd; QUERY: 1, ANSWER: 1\n\n;; ANSWER SECTION:\napi.okd.example.\t60\tIN\tA\t10.0.0.250\n\n")
	if err != nil || got.rcode != "NOERROR" || !got.authoritative || !slices.Equal(got.records, []record{{"api.okd.example.", "A", "10.0.0.250", 60}}) {
		t.Errorf("%+v, error %v", got, err)
	}
	if _, err := parseDig(";; communications error to 10.0.0.1#53: connection refused"); err == nil {
		t.Error("no answer is taken for one")
	}
}
