// Package unitprogram is what the provider's programs on machines have in common: they are told what to do by files of JSON with a comment in
// the first line, serve until systemd ends them, and tell it how they are.
package unitprogram

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Encode returns a file of a configuration: head, which is a comment, in the first line.
func Encode(head string, v any) ([]byte, error) {
	content, err := json.MarshalIndent(v, "", "  ")
	return fmt.Appendf(nil, "// %s\n%s\n", head, content), err
}

// Decode reads a file of a configuration. What has no place in it is an error.
func Decode(content []byte, into any) error {
	if bytes.HasPrefix(content, []byte("//")) {
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// ReadFile reads a file of a configuration from a directory. Its name is in the error.
func ReadFile(directory, name string, into any) error {
	content, err := os.ReadFile(filepath.Join(directory, name)) //nolint:gosec // it is the configuration
	if err == nil {
		err = Decode(content, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Ready tells systemd, where that started the program, that all of its ports are open, or that it has read its files anew (sd_notify(3)).
func Ready() error {
	at := os.Getenv("NOTIFY_SOCKET")
	if at == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", strings.Replace(at, "@", "\x00", 1))
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte("READY=1"))
	return errors.Join(err, conn.Close())
}
