package readiness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Here asks from the computer that the provider runs on.
type Here struct{}

// Ask implements Asker.
func (Here) Ask(ctx context.Context, c Condition) (string, error) {
	switch {
	case c.TCP != "":
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.TCP)
		if err != nil {
			return "", err
		}
		return "connected", conn.Close()
	case c.DNS != "":
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", c.DNS)
		if err != nil {
			return "", err
		}
		return c.judgeAddresses(found)
	}
	return c.getURL(ctx)
}

func (c Condition) getURL(ctx context.Context) (string, error) {
	client, err := c.makeClient()
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the URL is named where the reason is
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyLimit))
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return c.judgeAnswer(resp.StatusCode, string(body))
}

// makeClient takes the condition's certificates, and none of the environment's proxies: what is asked is the machine itself.
func (c Condition) makeClient() (*http.Client, error) {
	var pool *x509.CertPool // none are the system's authorities
	if c.CACertificate != "" {
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(c.CACertificate)) {
			return nil, errors.New("ca_certificate is no PEM")
		}
	}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, InsecureSkipVerify: c.Insecure, MinVersion: tls.VersionTLS12},
	}}, nil
}

// judgeAnswer says whether an HTTP answer is the one that is waited for.
func (c Condition) judgeAnswer(status int, body string) (string, error) {
	answer := strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	if len(c.Status) > 0 && !slices.Contains(c.Status, int64(status)) || len(c.Status) == 0 && (status < 200 || status > 299) {
		return "", fmt.Errorf("it answers %s%s", answer, excerptBody(body))
	}
	if c.Body != "" {
		wanted, err := regexp.Compile(c.Body)
		if err != nil {
			return "", err
		}
		if !wanted.MatchString(body) {
			return "", fmt.Errorf("it answers %s, with no %q in%s", answer, c.Body, excerptBody(body))
		}
	}
	return answer, nil
}

// excerptBody is the beginning of a body, for people.
func excerptBody(body string) string {
	text := strings.Join(strings.Fields(body), " ")
	if text == "" {
		return ": nothing"
	}
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return ": " + text
}

// judgeAddresses says whether a name resolves to what is waited for.
func (c Condition) judgeAddresses(found []netip.Addr) (string, error) {
	var have []string
	for i := range found {
		found[i] = found[i].Unmap()
		have = append(have, found[i].String())
	}
	slices.Sort(have)
	have = slices.Compact(have)
	for _, a := range c.Addresses {
		if !slices.Contains(found, a) {
			return "", fmt.Errorf("%s resolves to %s, not %s", c.DNS, strings.Join(have, ", "), a)
		}
	}
	for _, a := range found {
		if len(c.Addresses) > 0 && !slices.Contains(c.Addresses, a) {
			return "", fmt.Errorf("%s resolves to %s too", c.DNS, a)
		}
	}
	return strings.Join(have, ", "), nil
}

// There asks from a machine, by the programs that are on it.
type There struct{ Host host.Host }

// Ask implements Asker.
func (t There) Ask(ctx context.Context, c Condition) (string, error) {
	switch {
	case c.TCP != "":
		name, port, err := net.SplitHostPort(c.TCP)
		if err != nil {
			return "", err
		}
		if _, err := t.runRepeatable(ctx, host.Script("connect to "+c.TCP, connectScript, name, port)); err != nil {
			return "", err
		}
		return "connected", nil
	case c.DNS != "":
		out, err := t.runRepeatable(ctx, host.Cmd{Argv: []string{"getent", "ahosts", c.DNS}})
		if err != nil {
			if exit, ok := errors.AsType[*host.ExitError](err); ok && exit.Code == 2 {
				return "", fmt.Errorf("%s does not resolve %s", t.Host, c.DNS)
			}
			return "", err
		}
		return c.judgeAddresses(parseAddresses(string(out)))
	}
	return t.getURL(ctx, c)
}

// connectScript opens a connection by bash's own means, as a machine may have no nc.
const connectScript = `exec timeout 9 bash -c 'exec 3<>"/dev/tcp/$1/$2"' connect "$1" "$2"`

// parseAddresses reads what getent prints: an address at the beginning of each line.
func parseAddresses(out string) []netip.Addr {
	var all []netip.Addr
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) > 0 {
			if a, err := netip.ParseAddr(words[0]); err == nil {
				all = append(all, a)
			}
		}
	}
	return all
}

// getScript asks for a URL: the body, and the status in a last line.
//
//go:embed get.sh
var getScript string

func (t There) getURL(ctx context.Context, c Condition) (string, error) {
	argv := []string{c.URL}
	if c.Insecure {
		argv = append(argv, "--insecure")
	}
	out, err := t.runRepeatable(ctx, host.ScriptWithInput("ask for "+c.URL, getScript, []byte(c.CACertificate), argv...))
	if err != nil {
		return "", err
	}
	at := strings.LastIndexByte(string(out), '\n')
	status, err := strconv.Atoi(strings.TrimSpace(string(out[at+1:])))
	if at < 0 || err != nil {
		return "", fmt.Errorf("curl on %s gave no status", t.Host)
	}
	return c.judgeAnswer(status, string(out[:at]))
}

// runRepeatable runs a command that may be run again.
func (t There) runRepeatable(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	cmd.Repeatable = true
	out, err := t.Host.Run(ctx, cmd)
	if exit, ok := errors.AsType[*host.ExitError](err); ok && exit.Code == 127 {
		return nil, fmt.Errorf("%w: install what is missing there, or leave `from` out", err)
	}
	return out, err
}
