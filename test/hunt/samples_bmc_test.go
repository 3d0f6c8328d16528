package hunt

import (
	"crypto/x509"
	"encoding/pem"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs"
)

// The provider's own program is the test's here, which serves as the provider's does.
func TestMain(m *testing.M) {
	if ran, err := programs.Run("hunt", os.Args[1:]); err != nil {
		log.Fatal(err)
	} else if ran {
		return
	}
	os.Exit(m.Run())
}

// rack is the machine that has systemd and libvirt, and rackHypervisor its hypervisor.
const (
	rack        = "svc-5"
	rackAddress = "10.0.100.105"
	rackURI     = "qemu+ssh://root@" + rackAddress + "/system"
)

// controllerSubject are the BMCs of a fixture.
func controllerSubject() subject {
	nodes := object{"fixture": object{"port": 8001, "ipmi_port": 6231}}
	sum := "sha256:" + strings.Repeat("0", 64)
	return subject{
		kind: "virtcluster_bmc", importID: onHypervisor("name"),
		base: object{"name": "hunted", "hypervisor": "rack", "address": rackAddress, "password": "secret", "nodes": object{"fixture": object{}}},
		samples: map[string]any{
			"address": rackAddress, "binary": object{"source": "/bin/true", "checksum": sum}, "binary.checksum": sum, "binary.source": "/bin/true", "hypervisor": "rack", "name": "hunted",
			"nodes": nodes, "nodes.address": rackAddress, "nodes.ipmi_port": 6231, "nodes.port": 8001, "nodes.system_id": "hunted", "password": "secret", "password_wo": "secret", "password_wo_version": 1,
			"shared_port": 8443, "tls": object{"certificate": certificate(), "key": certificateKey()}, "tls.certificate": certificate(), "tls.key": certificateKey(), "tls.key_wo": certificateKey(), "user": "operator",
		},
		beside: map[string]object{
			"binary.source": {"binary": object{"checksum": sum}}, "binary.checksum": {"binary": object{"source": "/bin/true"}},
			"password_wo": {"password": nil, "password_wo_version": 1}, "password_wo_version": {"password": nil, "password_wo": "secret"},
			"tls.certificate": {"tls": object{"key": certificateKey()}}, "tls.key": {"tls": object{"certificate": certificate()}}, "tls.key_wo": {"tls": object{"certificate": certificate()}},
		},
		unread: []string{"address", "binary", "password", "password_wo_version", "tls"},
	}
}

// certificateKey is the key of certificate.
var certificateKey = sync.OnceValue(func() string {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
})
