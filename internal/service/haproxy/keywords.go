package haproxy

import (
	"slices"
	"strings"
)

// sectionWords are the words that begin a section, as of HAProxy 3.2.
var sectionWords = []string{
	"global", "defaults", "frontend", "backend", "listen", "userlist", "peers", "resolvers", "mailers", "program",
	"http-errors", "ring", "log-forward", "log-profile", "cache", "fcgi-app", "crt-store", "traces", "acme",
}

// bindFlags and serverFlags are the keywords of bind and server lines that take no argument; all others
// take one. From the manual, sections 5.1 and 5.2.
var (
	bindFlags = []string{
		"accept-proxy", "allow-0rtt", "ca-ignore-err", "defer-accept", "force-sslv3", "force-tlsv10", "force-tlsv11", "force-tlsv12",
		"force-tlsv13", "generate-certificates", "no-alpn", "no-ca-names", "no-sslv3", "no-strict-sni", "no-tls-tickets", "no-tlsv10", "no-tlsv11",
		"no-tlsv12", "no-tlsv13", "prefer-client-ciphers", "quic-force-retry", "ssl", "strict-sni", "tfo", "tls-tickets",
		"transparent", "v4v6", "v6only",
	}
	serverFlags = []string{
		"agent-check", "allow-0rtt", "backup", "check", "check-reuse-pool", "check-send-proxy", "check-ssl", "check-via-socks4", "disabled", "enabled",
		"force-sslv3", "force-tlsv10", "force-tlsv11", "force-tlsv12", "force-tlsv13", "no-agent-check", "no-backup", "no-check",
		"no-check-send-proxy", "no-check-ssl", "no-renegotiate", "no-send-proxy", "no-send-proxy-v2", "no-send-proxy-v2-ssl",
		"no-send-proxy-v2-ssl-cn", "no-sni-auto", "no-check-sni-auto", "no-ssl", "no-ssl-reuse", "no-sslv3", "no-strict-maxconn", "no-tfo", "no-tls-tickets", "no-tlsv10", "no-tlsv11",
		"no-tlsv12", "no-tlsv13", "no-verifyhost", "non-stick", "renegotiate", "send-proxy", "send-proxy-v2", "send-proxy-v2-ssl",
		"send-proxy-v2-ssl-cn", "sni-auto", "check-sni-auto", "ssl", "ssl-reuse", "stick", "strict-maxconn", "tfo", "tls-tickets",
	}
)

// countArguments says how many words follow a keyword.
func countArguments(flags []string, keyword string) int {
	if slices.Contains(flags, keyword) {
		return 0
	}
	return 1
}

// BindOptions splits the words of Bind.Options into one text for each option: "ssl", "crt /etc/site.pem".
func BindOptions(words string) []string { return groupOptions(bindFlags, words) }

// ServerOptions does the same for Params.Options.
func ServerOptions(words string) []string { return groupOptions(serverFlags, words) }

func groupOptions(flags []string, line string) []string {
	words, _ := rawWords(line)
	var options []string
	for len(words) > 0 {
		n := min(1+countArguments(flags, words[0]), len(words))
		options = append(options, strings.Join(words[:n], " "))
		words = words[n:]
	}
	return options
}
