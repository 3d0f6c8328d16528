package haproxy

import (
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// ValidateTLS finds servers whose certificates HAProxy is to verify, which it does unless it is told otherwise, by no CA: it refuses
// them, unless its global section says ssl-server-verify none. All of the backend must be known, as any of it may name the CA.
func (b Backend) ValidateTLS() []service.Problem {
	var c checks
	for _, name := range sortedKeys(b.Servers) {
		p := b.inheritedParams()
		p = b.Servers[name].withDefaults(p)
		words, _ := rawWords(p.Options)
		speaksTLS := p.CheckSSL != nil && *p.CheckSSL || slices.Contains(words, "ssl")
		if !speaksTLS || p.Verify == "none" || slices.Contains(words, "ca-file") {
			continue
		}
		c.addProblem([]any{"servers", service.Key(name)}, "No CA to verify by",
			"HAProxy verifies the certificate of a server that it speaks TLS with (check_ssl, or ssl in options), and no CA is named: add \"ca-file\" and \"/PATH/OF/CA.pem\" to options, or write verify = \"none\"")
	}
	return c.problems
}
