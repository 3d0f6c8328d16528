package sshhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// AuthError says that the machine answered, its host key is right, and it refuses the login.
type AuthError struct {
	Host, User string
	// Tried describes the keys that were offered.
	Tried []string
	Err   error
}

// Error says what was offered.
func (e *AuthError) Error() string {
	tried := strings.Join(e.Tried, ", ")
	if tried == "" {
		tried = "no key at all: set ssh.private_key_file in the provider, or run an agent"
	}
	return fmt.Sprintf("%s refuses the login as %q (offered %s): %s", e.Host, e.User, tried, e.Err)
}

// Unwrap returns the handshake's error.
func (e *AuthError) Unwrap() error { return e.Err }

// keys are what one attempt to log in offers.
type keys struct {
	signers []ssh.Signer
	names   []string
	close   func()
}

func (k *keys) addSigner(name string, s ssh.Signer) {
	k.signers = append(k.signers, s)
	k.names = append(k.names, name)
}

// loadKeys gathers the keys: those that the provider's configuration names alone, or else the agent's, those
// of ~/.ssh/config and OpenSSH's defaults. An agent is asked, for its keys and later for signatures, until the context ends.
func loadKeys(ctx context.Context, opts Options, s settings) (*keys, error) {
	k := &keys{close: func() {}}
	if opts.PrivateKey != "" {
		signer, err := ssh.ParsePrivateKey([]byte(opts.PrivateKey))
		if err != nil {
			return nil, fmt.Errorf("private_key: %w", keyProblem(err))
		}
		k.addSigner("the private_key", signer)
	}
	if opts.PrivateKeyFile != "" {
		signer, err := readKey(expandHome(opts.PrivateKeyFile))
		if err != nil {
			return nil, fmt.Errorf("private_key_file: %w", err)
		}
		k.addSigner(opts.PrivateKeyFile, signer)
	}
	if s.agent != "" {
		if err := k.askAgent(ctx, s.agent); err != nil && (opts.Agent != nil || ctx.Err() != nil) {
			return nil, err
		}
	}
	if opts.PrivateKey != "" || opts.PrivateKeyFile != "" {
		return k, nil
	}
	for _, name := range s.identities {
		signer, err := readKey(name)
		switch {
		case err == nil:
			k.addSigner(name, signer)
		case !errors.Is(err, fs.ErrNotExist):
			k.names = append(k.names, fmt.Sprintf("not %s: %s", name, err))
		}
	}
	return k, nil
}

func (k *keys) askAgent(ctx context.Context, socket string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("ssh agent: %w", err)
	}
	// The agent of a computer that sleeps, or one that waits for its user, may never answer.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	k.close = func() {
		stop()
		conn.Close()
	}
	signers, err := agent.NewClient(conn).Signers()
	if ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", socket, context.Cause(ctx))
	}
	if err != nil {
		k.close()
		return fmt.Errorf("ssh agent: %w", err)
	}
	for _, s := range signers {
		k.addSigner("agent key "+ssh.FingerprintSHA256(s.PublicKey()), s)
	}
	return nil
}

// readKey reads a private key, and the certificate beside it where there is one.
func readKey(name string) (ssh.Signer, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, keyProblem(err))
	}
	text, err = os.ReadFile(name + "-cert.pub")
	if err != nil {
		return signer, nil //nolint:nilerr // a certificate that cannot be read leaves the key alone, as with OpenSSH
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if cert, ok := public.(*ssh.Certificate); err == nil && ok {
		if certified, err := ssh.NewCertSigner(cert, signer); err == nil {
			return certified, nil
		}
	}
	return signer, nil
}

func keyProblem(err error) error {
	if _, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		return errors.New("the key has a passphrase; add it to an ssh agent instead")
	}
	return err
}

// CheckKey says what is wrong with a private key. One that needs a passphrase is none that a provider can use.
func CheckKey(text []byte) error {
	if _, err := ssh.ParsePrivateKey(text); err != nil {
		return keyProblem(err)
	}
	return nil
}

// CheckKeyFile is CheckKey for a file; one that is not there is fs.ErrNotExist.
func CheckKeyFile(name string) error {
	_, err := readKey(expandHome(name))
	return err
}
