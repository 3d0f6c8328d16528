package sshhost

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// HostKeyError says that a machine's host key is not the one expected: another machine answers at this
// address, or the machine was installed anew.
type HostKeyError struct {
	Host string
	// Got is the fingerprint that the machine showed, Want those that are accepted; none means that the
	// machine is not known at all.
	Got  string
	Want []string
	// Where says what the expectation comes from: "~/.ssh/known_hosts:3", "host_key".
	Where string
	// Forget is the command that drops the expectation, "" where it is in the configuration or the state.
	Forget string
	// KnownHostsOnly marks a machine that has no host_key.
	KnownHostsOnly bool
}

// Unknown says that nobody said anything about the key: the machine is there, and is refused until somebody does.
func (e *HostKeyError) Unknown() bool { return len(e.Want) == 0 }

// Error shows both fingerprints and the way out.
func (e *HostKeyError) Error() string {
	if e.Unknown() {
		way := fmt.Sprintf("put it into %s (ssh-keyscan prints the line)", e.Where)
		if pin, err := host.ParsePin(e.Got); err == nil && !e.KnownHostsOnly {
			way += fmt.Sprintf(", write it behind the endpoint, as ?host_key=%s, or name the machine by the id of a virtcluster_service_node", string(pin))
		}
		return fmt.Sprintf("the host key of %s is not known: it shows %s; compare that with the machine's own "+
			"(ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub there), then %s", e.Host, e.Got, way)
	}
	text := fmt.Sprintf("the host key of %s is not the expected one: it shows %s, but %s says %s; another machine "+
		"answers there, or it was installed anew", e.Host, e.Got, e.Where, strings.Join(e.Want, " or "))
	if e.Forget != "" {
		return text + ". If the new key is right: " + e.Forget
	}
	return text + ". If the new key is right, correct host_key; a machine that was a virtcluster_service_node before has " +
		"lost what it served, so take that resource and those on it out of the state with \"terraform state rm\" first"
}

// verifier decides on host keys; algorithms are those of the keys that are known, nil where
// none is.
type verifier struct {
	target     Target
	known      *knownhosts.HostKeyDB
	file       string
	want       host.Pin
	revoked    []revokedKey // looked at beside want; known looks at its own
	algorithms []string
}

func newVerifier(t Target, s settings) (*verifier, error) {
	v := &verifier{target: t, file: s.knownHosts[0]}
	if t.HostKey != "" {
		var err error
		if v.revoked, err = revokedKeys(s.knownHosts); err != nil {
			return nil, err
		}
	}
	if t.HostKey != "" {
		pin, key, err := parseHostKeyOrPin(t.HostKey)
		if key != nil {
			v.algorithms = algorithmsOf(key.Type())
		}
		v.want = pin
		return v, err
	}
	files := slices.DeleteFunc(slices.Clone(s.knownHosts), func(name string) bool {
		_, err := os.Stat(name)
		return err != nil
	})
	db, err := knownhosts.NewDB(files...)
	if err != nil {
		return nil, fmt.Errorf("known hosts: %w", err)
	}
	v.known, v.algorithms = db, db.HostKeyAlgorithms(s.dialAddress())
	return v, nil
}

// preferred are the types of host keys in OpenSSH's order (ssh_config, HostKeyAlgorithms), so that the key
// that is pinned is the one that ssh and ssh-keygen -l show a person first.
var preferred = []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA}

// firstAlgorithms lists the algorithms to ask the machine for first.
func (v *verifier) firstAlgorithms() []string {
	if len(v.algorithms) > 0 {
		return v.algorithms
	}
	var all []string
	for _, name := range preferred {
		all = append(all, algorithmsOf(name)...)
	}
	return all
}

// ParseHostKey reads a public key: "ssh-ed25519 AAAA… comment", as authorized_keys, ssh-keyscan or a
// ssh_host_*_key.pub have it.
func ParseHostKey(text string) (ssh.PublicKey, error) {
	fields := strings.Fields(text)
	// ssh-keyscan and known_hosts put the machine's name first.
	if i := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "AAAA") }); i > 0 {
		fields = fields[i-1:]
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(strings.Join(fields, " ")))
	if err != nil {
		return nil, fmt.Errorf("host key %q: write a fingerprint (SHA256:…) or a public key (ssh-ed25519 AAAA…)", text)
	}
	return key, nil
}

// parseHostKeyOrPin reads a pin, or the public key that it is made from.
func parseHostKeyOrPin(text string) (host.Pin, ssh.PublicKey, error) {
	if pin, err := host.ParsePin(text); err == nil {
		return pin, nil, nil
	} else if strings.HasPrefix(text, "SHA256:") {
		return "", nil, fmt.Errorf("host key %q: %w", text, err)
	}
	key, err := ParseHostKey(text)
	if err != nil {
		return "", nil, err
	}
	pin, err := host.ParsePin(ssh.FingerprintSHA256(key))
	return pin, key, err
}

// WholePin returns the fingerprint of what `host_key` takes: a fingerprint or a public key.
func WholePin(hostKey string) (host.Pin, error) {
	pin, _, err := parseHostKeyOrPin(hostKey)
	if err == nil && !pin.Whole() {
		return "", fmt.Errorf("host key %q: write the whole fingerprint, SHA256: and 43 characters, as ssh-keygen -l prints it", hostKey)
	}
	return pin, err
}

// checkKey is the ssh.HostKeyCallback. address is HOST:PORT as known_hosts names it.
func (v *verifier) checkKey(address string, remote net.Addr, key ssh.PublicKey) error {
	got := ssh.FingerprintSHA256(plainKey(key))
	if v.want != "" {
		for _, r := range v.revoked {
			if r.blob == string(plainKey(key).Marshal()) {
				return fmt.Errorf("the host key of %s, %s, is revoked in %s: give the machine a new one, and correct host_key", v.target, got, r.where)
			}
		}
		return v.target.compareKey(got, v.want)
	}
	err := v.known.HostKeyCallback()(address, remote, key)
	if err == nil {
		return nil
	}
	unknown, ok := errors.AsType[*xknownhosts.KeyError](err)
	if !ok {
		return fmt.Errorf("host key of %s: %w", v.target, err) // revoked, or signed by the wrong authority
	}
	refusal := &HostKeyError{Host: v.target.String(), Got: got, Where: v.file, KnownHostsOnly: v.target.KnownHostsOnly}
	if len(unknown.Want) == 0 {
		if v.target.FirstUse {
			return nil
		}
		return refusal
	}
	for _, k := range unknown.Want {
		refusal.Want = append(refusal.Want, ssh.FingerprintSHA256(k.Key))
	}
	where := unknown.Want[0]
	refusal.Where = fmt.Sprintf("%s:%d", where.Filename, where.Line)
	refusal.Forget = fmt.Sprintf("ssh-keygen -f %s -R '%s'", where.Filename, knownhosts.Normalize(address))
	return refusal
}

// checkKey compares the key that a machine showed with its pin.
func (t Target) checkKey(key ssh.PublicKey) error {
	want, _, err := parseHostKeyOrPin(t.HostKey)
	if err != nil {
		return err
	}
	return t.compareKey(ssh.FingerprintSHA256(key), want)
}

func (t Target) compareKey(got string, want host.Pin) error {
	if want.Matches(got) {
		return nil
	}
	return &HostKeyError{Host: t.String(), Got: got, Want: []string{want.String()}, Where: "host_key"}
}

// plainKey returns the host key that a certificate is for, or the key itself. The key is what a machine is pinned by: it
// is shown without its certificate too, and stays when that is renewed.
func plainKey(key ssh.PublicKey) ssh.PublicKey {
	if cert, ok := key.(*ssh.Certificate); ok {
		return cert.Key
	}
	return key
}

// revokedKey is a key that known_hosts marks @revoked; blob is the key as SSH sends it.
type revokedKey struct{ blob, where string }

// revokedKeys returns what known_hosts files revoke, for whichever machine: a key that was stolen is refused wherever it
// is shown. Other lines, broken ones too, say nothing about a machine that is known by its host_key.
func revokedKeys(files []string) ([]revokedKey, error) {
	var keys []revokedKey
	for _, name := range files {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("known hosts: %w", err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			fields := strings.Fields(line) // @revoked PATTERNS TYPE KEY
			if len(fields) < 4 || fields[0] != "@revoked" {
				continue
			}
			where := fmt.Sprintf("%s:%d", name, n)
			blob, err := base64.StdEncoding.DecodeString(fields[3])
			if err != nil {
				return nil, fmt.Errorf("known hosts: the key that %s revokes cannot be read: %w", where, err)
			}
			keys = append(keys, revokedKey{blob: string(blob), where: where})
		}
	}
	return keys, nil
}

// algorithmsOf lists the signature algorithms of one type of key.
func algorithmsOf(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// otherAlgorithms lists, for a fingerprint, what to ask the machine for after it showed another key: a machine has one
// key of each type and shows the one that both sides like best, and a fingerprint does not tell its type.
func (v *verifier) otherAlgorithms(shown ssh.PublicKey) [][]string {
	if v.want == "" || len(v.algorithms) > 0 || shown == nil {
		return nil
	}
	var rest [][]string
	for _, name := range preferred {
		if name != shown.Type() {
			rest = append(rest, algorithmsOf(name))
		}
	}
	return rest
}
