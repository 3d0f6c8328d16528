package bind

import (
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"
)

// chunk is the longest character string of a TXT record (RFC 1035, section 3.3).
const chunk = 255

// Value is record data in canonical form, in which two spellings of one meaning are equal: names absolute and
// in lower case, addresses in their shortest form. TXT data is the text itself, unquoted, where it is one
// text cut every 255 bytes; other TXT data is a sequence of quoted strings. A TTL of its own stands behind it.
func Value(rrType, value, zone string) (string, error) {
	value, ttl := cutTTL(rrType, value)
	if ttl != InheritTTL {
		c, err := Value(rrType, value, zone)
		return withTTL(rrType, c, ttl), err
	}
	data, err := zoneData(rrType, value, zone)
	if err != nil {
		return "", err
	}
	rr, err := parseRR("x."+zone+".", rrType, data, zone)
	switch {
	case err != nil && rrType == "A":
		return "", errors.New("it is no IPv4 address")
	case err != nil && rrType == "AAAA":
		return "", errors.New("it is no IPv6 address")
	case err != nil:
		return "", err
	}
	return canonicalData(rr), nil
}

// zoneData is a value as it stands in a zone file.
func zoneData(rrType, value, zone string) (string, error) {
	if isText(rrType) {
		if strings.HasPrefix(value, `"`) {
			return value, nil
		}
		if value == "" {
			return "", errors.New("the text is empty")
		}
		return quoteText(value), nil
	}
	if strings.TrimSpace(value) == "" {
		return "", errors.New("the value is empty")
	}
	if isASCII(value) {
		return value, nil
	}
	fields := strings.Fields(value)
	for i, f := range fields {
		ascii, err := ToASCII(f)
		if err != nil {
			return "", err
		}
		fields[i] = ascii
	}
	return strings.Join(fields, " "), nil
}

func isText(rrType string) bool { return rrType == "TXT" || rrType == "SPF" }

// parseRR parses one record and refuses data that would be more than one.
func parseRR(owner, rrType, data, zone string) (dns.RR, error) {
	zp := dns.NewZoneParser(strings.NewReader(owner+" 0 IN "+rrType+" "+data+"\n"), zone+".", "")
	rr, ok := zp.Next()
	if err := zp.Err(); err != nil {
		return nil, plainError(err)
	}
	if !ok {
		return nil, errors.New("the value is empty")
	}
	if _, more := zp.Next(); more || zp.Err() != nil {
		return nil, errors.New("the value must be one line")
	}
	return rr, checkComplete(rr)
}

// checkComplete says what keeps a record from being sent: the library's parser takes some that are not whole.
func checkComplete(rr dns.RR) error {
	if canonicalData(rr) == "" {
		return errors.New("the value is incomplete")
	}
	buf := make([]byte, dns.Len(rr)+1)
	if _, err := dns.PackRR(rr, buf, 0, nil, false); err != nil {
		return plainError(err)
	}
	return nil
}

// plainError takes the library's own decoration off its message.
func plainError(err error) error {
	text := strings.TrimPrefix(err.Error(), "dns: ")
	if text, _, ok := strings.Cut(text, " at line:"); ok {
		return errors.New(text)
	}
	return errors.New(text)
}

// canonicalData is a record's data in canonical form, without its header. It changes the record.
func canonicalData(rr dns.RR) string {
	switch v := rr.(type) {
	case *dns.TXT:
		return canonicalText(v.Txt)
	case *dns.SPF:
		return canonicalText(v.Txt)
	case *dns.NS:
		v.Ns = dns.CanonicalName(v.Ns)
	case *dns.CNAME:
		v.Target = dns.CanonicalName(v.Target)
	case *dns.DNAME:
		v.Target = dns.CanonicalName(v.Target)
	case *dns.PTR:
		v.Ptr = dns.CanonicalName(v.Ptr)
	case *dns.MX:
		v.Mx = dns.CanonicalName(v.Mx)
	case *dns.SRV:
		v.Target = dns.CanonicalName(v.Target)
	case *dns.CAA:
		v.Tag = strings.ToLower(v.Tag)
	}
	return strings.TrimPrefix(rr.String(), rr.Header().String())
}

// canonicalText is the text of a TXT record from its character strings in presentation form.
func canonicalText(chunks []string) string {
	var text strings.Builder
	whole := len(chunks) > 0
	for i, c := range chunks {
		raw := unescapeText(c)
		if i < len(chunks)-1 && len(raw) != chunk {
			whole = false
		}
		text.WriteString(raw)
	}
	if t := text.String(); whole && t != "" && t[0] != '"' && (len(chunks) == (len(t)+chunk-1)/chunk) {
		return t
	}
	quoted := make([]string, len(chunks))
	for i, c := range chunks {
		quoted[i] = `"` + escapeText(unescapeText(c)) + `"`
	}
	return strings.Join(quoted, " ")
}

// quoteText cuts a text into quoted strings of at most 255 bytes.
func quoteText(text string) string {
	var quoted []string
	for len(text) > chunk {
		quoted = append(quoted, `"`+escapeText(text[:chunk])+`"`)
		text = text[chunk:]
	}
	return strings.Join(append(quoted, `"`+escapeText(text)+`"`), " ")
}

// escapeText writes a character string in the presentation form of RFC 1035, section 5.1.
func escapeText(raw string) string {
	var b strings.Builder
	for i := range len(raw) {
		switch c := raw[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescapeText is the inverse of escapeText.
func unescapeText(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		if i+3 < len(text) && isDigit(text[i+1]) && isDigit(text[i+2]) && isDigit(text[i+3]) {
			b.WriteByte((text[i+1]-'0')*100 + (text[i+2]-'0')*10 + text[i+3] - '0')
			i += 3
			continue
		}
		i++
		b.WriteByte(text[i])
	}
	return b.String()
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
