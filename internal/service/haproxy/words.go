package haproxy

import (
	"slices"
	"strings"
)

// rawWords splits a line the way HAProxy does (quotes, backslashes, a comment from an unquoted # on) and
// leaves every word as it is written, quotes included. The comment comes back without its #.
func rawWords(line string) (words []string, comment string) {
	start := -1
	end := func(i int) {
		if start >= 0 {
			words = append(words, line[start:i])
			start = -1
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == ' ' || c == '\t':
			end(i)
			continue
		case c == '#':
			end(i)
			return words, strings.TrimSpace(line[i+1:])
		case start < 0:
			start = i
		}
		switch c {
		case '\\':
			i++
		case '\'':
			i += 1 + max(strings.IndexByte(line[i+1:]+"'", '\''), 0)
		case '"':
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
		}
	}
	end(len(line))
	return words, ""
}

// firstWord is a line's first word as far as it has no blank in quotes, "" where there is none. Every edit looks at
// every line for where sections begin, and no word that begins one is quoted.
func firstWord(line string) string {
	line = strings.TrimLeft(line, " \t")
	if end := strings.IndexAny(line, " \t#"); end >= 0 {
		return line[:end]
	}
	return line
}

// closesQuotes says whether every quote of a line ends on it, and no backslash stands last.
func closesQuotes(line string) bool {
	var quote byte
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quote != '\'':
			if i++; i == len(line) {
				return false
			}
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return quote == 0
}

// unquoteWord gives the value of a word that quoteWord wrote.
func unquoteWord(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case c == '\\' && i+1 < len(word):
			i++
			b.WriteByte(word[i])
		case c == '\'':
			n := strings.IndexByte(word[i+1:]+"'", '\'')
			b.WriteString(word[i+1 : min(i+1+n, len(word))])
			i += 1 + n
		case c == '"':
			for i++; i < len(word) && word[i] != '"'; i++ {
				if word[i] == '\\' && i+1 < len(word) {
					i++
				}
				b.WriteByte(word[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// quoteWord writes a value as one word of a configuration line, whatever printable characters it has. Not by double
// quotes: inside them HAProxy expands environment variables. A blank is quoted so that lines can be trimmed.
func quoteWord(value string) string {
	if value == "" {
		return `''`
	}
	return strings.NewReplacer(` `, `' '`, `#`, `\#`, `\`, `\\`, `'`, `\'`, `"`, `\"`).Replace(value)
}

// OneLine gives a line with single blanks between its words; quoted words stay whole. A line with a comment
// or a line break, which no value may have, is only trimmed.
func OneLine(text string) string {
	text = strings.TrimSpace(text) // first: a heredoc ends with a line break
	if words, comment := rawWords(text); comment == "" && !strings.ContainsAny(text, "\n\r") {
		return strings.Join(words, " ")
	}
	return text
}

// oneLine is the same without the comment.
func oneLine(text string) string {
	words, _ := rawWords(text)
	return strings.Join(words, " ")
}

// Lines are the significant lines of a text: trimmed, without blank lines and comments.
func Lines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); isSignificant(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// isSignificant tells a line that HAProxy acts on from blank lines and comments.
func isSignificant(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#'
}

// cutKeyword takes leading words off a line when they are the given ones, and returns the rest as it is written.
func cutKeyword(line string, keyword string) (rest string, ok bool) {
	rest = strings.TrimSpace(line)
	for word := range strings.SplitSeq(keyword, " ") {
		after, found := strings.CutPrefix(rest, word)
		if !found || after != "" && after[0] != ' ' && after[0] != '\t' {
			return "", false
		}
		rest = strings.TrimSpace(after)
	}
	return rest, true
}

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
