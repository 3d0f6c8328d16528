package netboot

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNobodyChangesAnythingByAServer asks by methods that the kernel's own server may take for orders.
func TestNobodyChangesAnythingByAServer(t *testing.T) {
	t.Parallel()
	var passed []string
	orders := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { passed = append(passed, r.Method) }))
	t.Cleanup(orders.Close)
	_, server, _ := newService(t, func(p *Profile) { p.Kernel = orders.URL + "/kernel" })
	for _, c := range []struct {
		method, name string
		want         int
	}{
		{http.MethodDelete, "kernel", http.StatusMethodNotAllowed}, {http.MethodPut, "kernel", http.StatusMethodNotAllowed}, {http.MethodPost, "kernel", http.StatusMethodNotAllowed},
		{http.MethodPost, "boot.img", http.StatusMethodNotAllowed}, {http.MethodPut, "boot.ipxe", http.StatusMethodNotAllowed},
		{http.MethodHead, "kernel", http.StatusOK}, {http.MethodGet, "kernel", http.StatusOK}, {http.MethodPut, "installed", http.StatusOK},
	} {
		t.Run(c.method+" "+c.name, func(t *testing.T) {
			req, _ := http.NewRequest(c.method, server.URL+here+"/"+c.name, http.NoBody)
			resp, err := http.DefaultClient.Do(req)
			if err != nil || resp.StatusCode != c.want {
				t.Fatalf("%v, %+v", err, resp)
			}
			_ = resp.Body.Close()
		})
	}
	if got := strings.Join(passed, " "); got != "HEAD GET" {
		t.Errorf("the kernel's server was asked by %s", got)
	}
}
