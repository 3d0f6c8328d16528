package registry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var mine = owner.Mark{ID: "abcdefgh12345678", Workspace: "0123456789abcdef"}

// keyPair makes a certificate and its key.
func keyPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"registry.example"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text}))
}

const hash = "$2y$10$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyz01234"

func TestARegistryIsReadBack(t *testing.T) {
	t.Parallel()
	certificate, key := keyPair(t)
	for name, want := range map[string]Registry{
		"plain":     {Name: "images", Port: 5000, Storage: "/srv/images", Users: map[string]string{}},
		"a mirror":  {Name: "images", Port: 5001, Storage: "/srv/images", MirrorOf: "https://registry-1.docker.io", Users: map[string]string{}},
		"with all":  {Name: "images", Address: netip.MustParseAddr("10.0.0.1"), Port: 5000, Storage: "/srv/images", Certificate: certificate, Key: key, KeyVersion: 3, Users: map[string]string{"one": hash, "two": hash}},
		"with IPv6": {Name: "images", Address: netip.MustParseAddr("fd00::1"), Port: 5000, Storage: "/srv/images", Users: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := transaction.Tree{}
			p := NewPart(part.Identity{Name: "images", ImportID: "x#registry/images", Mark: mine})
			if err := p.Add(tree, want); err != nil {
				t.Fatal(err)
			}
			if got, err := p.Find(tree); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v: %+v", err, got)
			}
			if m, there := p.Mark(tree); !there || m != mine {
				t.Errorf("the mark is %+v, %t", m, there)
			}
			for _, secret := range []string{keyFile, usersFile} {
				if f, there := tree[Daemon.Path("images", secret)]; there && (f.Mode.Perm() != 0o640 || f.Group != account) {
					t.Errorf("%s is %o of %s", secret, f.Mode.Perm(), f.Group)
				}
			}
			if err := p.Set(tree, Registry{Name: "images", Port: 5000, Storage: "/srv/images"}); err != nil || len(tree) != 4 {
				t.Errorf("%v: one that is plain again has %d files", err, len(tree))
			}
			if err := p.Drop(tree); err != nil || len(tree) != 0 {
				t.Errorf("%v: left %v", err, tree)
			}
		})
	}
}

func TestAKeyThatIsNotTheCertificatesIsRefusedAndSeen(t *testing.T) {
	t.Parallel()
	certificate, key := keyPair(t)
	_, other := keyPair(t)
	r := Registry{Name: "images", Port: 5000, Storage: "/srv/images", Certificate: certificate, Key: other, KeyVersion: 1, Users: map[string]string{}}
	if problems := r.Validate(); len(problems) != 1 || problems[0].Path[0] != "tls" {
		t.Errorf("%+v", problems)
	}
	tree := transaction.Tree{}
	p := NewPart(part.Identity{Name: "images", ImportID: "x", Mark: mine})
	if err := p.Add(tree, r); err == nil {
		t.Error("it is taken")
	}
	r.Key = key
	if err := p.Add(tree, r); err != nil {
		t.Fatal(err)
	}
	r.Key = "" // one that is not known now stays
	if err := p.Set(tree, r); err != nil || string(tree[Daemon.Path("images", keyFile)].Content) != key {
		t.Errorf("%v: the key is lost", err)
	}
	if got, err := p.Find(tree); err != nil || got.KeyVersion != 1 {
		t.Errorf("%v: its own key has version %d", err, got.KeyVersion)
	}
	f := tree[Daemon.Path("images", keyFile)]
	f.Content = []byte(other)
	tree[f.Path] = f
	if got, err := p.Find(tree); err != nil || got.KeyVersion != 0 {
		t.Errorf("%v: another key has version %d", err, got.KeyVersion)
	}
	delete(tree, f.Path)
	if got, err := p.Find(tree); err != nil || got.KeyVersion != 0 {
		t.Errorf("%v: a key that is gone has version %d", err, got.KeyVersion)
	}
}

func TestWhatNoRegistryTakes(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"a password":       CheckHash("secret"),
		"a colon":          CheckUser("a:b"),
		"no URL":           CheckMirrored("docker.io"),
		"a line more":      CheckMirrored("https://x\ny: z"),
		"a path as a name": CheckName("../x"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v", err)
			}
		})
	}
	if err := CheckHash(hash); err != nil {
		t.Error(err)
	}
}

// TestAMirrorServesWhatItKeptUntilTheOtherAnswers runs serve.sh.
func TestAMirrorServesWhatItKeptUntilTheOtherAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mirrorOf, curl string
		calls          []string
	}{
		"no mirror":        {"", "exit 7", []string{"docker-registry serve /d/config.yml"}},
		"it answers":       {"http://up", "", []string{"curl --silent --output /dev/null --max-time 5 http://up/v2/", "docker-registry serve /d/config.yml"}},
		"it does not":      {"http://up", "exit 7", []string{"curl --silent --output /dev/null --max-time 5 http://up/v2/", "docker-registry serve /d/alone.yml"}},
		"it answers again": {"http://up", "[ -e $0.was ] || { touch $0.was; exit 7; }", []string{"curl --silent --output /dev/null --max-time 5 http://up/v2/", "docker-registry serve /d/alone.yml", "curl --silent --output /dev/null --max-time 5 http://up/v2/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait, registry := "60", ""
			if name == "it answers again" {
				wait, registry = "1", "exec sleep 30"
			}
			end := hosttest.Script{
				Text: "MIRROR_OF=" + c.mirrorOf + "\n" + strings.Replace(serveScript, "until sleep", "exec >/dev/null 2>&1\n\tuntil sleep", 1), Args: []string{"/d", wait},
				Programs: map[string]string{"curl": c.curl, "docker-registry": registry},
			}.Run(t)
			if ended := name == "it answers again"; (end.Status != 0) != ended || !slices.Equal(end.Calls, c.calls) {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestWhatAPersonWroteIsWrittenAnew has one see a line of somebody else's.
func TestWhatAPersonWroteIsWrittenAnew(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	p := NewPart(part.Identity{Name: "images", ImportID: "x", Mark: mine})
	if err := p.Add(tree, Registry{Name: "images", Port: 5000, Storage: "/srv/images"}); err != nil {
		t.Fatal(err)
	}
	f := tree[Daemon.Path("images", configFile)]
	f.Content = append(f.Content, "health: {}\n"...)
	tree[f.Path] = f
	if got, err := p.Find(tree); err != nil || got.Port != 0 {
		t.Errorf("%v: %+v", err, got)
	}
}
