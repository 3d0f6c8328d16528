package readiness

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestCurlAsksAsTheProviderDoes runs get.sh.
func TestCurlAsksAsTheProviderDoes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err) // there is nothing to run: a machine without curl gets status 127
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/healthz", http.StatusFound)
			return
		}
		if r.URL.Path == "/long" {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 2<<20))
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("etcd is\nstarting\n"))
	}))
	defer server.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, c := range map[string]struct {
		input string
		args  []string
		says  string
	}{
		"with its authority":       {ca, []string{server.URL + "/healthz"}, "etcd is\nstarting\n\n503"},
		"where it is led":          {ca, []string{server.URL + "/moved"}, "etcd is\nstarting\n\n503"},
		"of which it reads a part": {ca, []string{server.URL + "/long"}, strings.Repeat("x", 1<<20) + "\n200"},
		"with any certificate":     {"", []string{server.URL, "--insecure"}, "etcd is\nstarting\n\n503"},
		"with the machine's trust": {"", []string{server.URL}, ""},
		"of somebody else's":       {ca, []string{strings.Replace(server.URL, "127.0.0.1", "localhost", 1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			end := hosttest.Script{Text: getScript, Args: c.args, Input: c.input}.Run(t)
			if c.says != "" && (end.Status != 0 || end.Stdout != c.says) || c.says == "" && end.Status == 0 {
				t.Errorf("%+v", end)
			}
		})
	}
	if end := (hosttest.Script{Text: getScript, Args: []string{server.URL}, Alone: true}).Run(t); end.Status != 127 || end.Stderr != "there is no curl\n" {
		t.Errorf("%+v", end)
	}
}

// TestWhoNamesAuthoritiesTrustsNoOthers has the machines that ask have authorities of their own.
func TestWhoNamesAuthoritiesTrustsNoOthers(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	own := x509.NewCertPool()
	own.AddCert(server.Certificate())
	for input, want := range map[string]*x509.CertPool{string(ca): own, "": nil} {
		t.Run(fmt.Sprintf("named: %t", input != ""), func(t *testing.T) {
			t.Parallel()
			client, err := Condition{CACertificate: input}.makeClient()
			if err != nil {
				t.Fatal(err)
			}
			transport, _ := client.Transport.(*http.Transport)
			if got := transport.TLSClientConfig.RootCAs; (got == nil) != (want == nil) || got != nil && !got.Equal(want) {
				t.Errorf("it trusts others: %t", got != nil)
			}
			end := hosttest.Script{Text: getScript, Args: []string{"https://a"}, Input: input, Programs: map[string]string{"curl": ""}}.Run(t)
			if called := strings.Join(end.Calls, "\n"); strings.Contains(called, "--cacert") != (input != "") || strings.Contains(called, "--capath") != (input != "") {
				t.Errorf("curl is called as %q", called)
			}
		})
	}
}
