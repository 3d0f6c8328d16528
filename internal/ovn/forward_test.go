package ovn

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestAConnectionOutlivesTheSocketThatItCameBy(t *testing.T) {
	t.Parallel()
	far, theirs := net.Pipe()
	f, err := listen(t.Context(), func(context.Context) (net.Conn, error) { return far, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	near, err := net.Dial("unix", f.path)
	if err != nil {
		t.Fatal(err)
	}
	exchange := func() error {
		sent := make(chan error, 1)
		go func() { _, err := near.Write([]byte("x")); sent <- err }()
		_, err := theirs.Read(make([]byte, 1))
		return errors.Join(err, <-sent)
	}
	if err := exchange(); err != nil {
		t.Fatal(err)
	}
	f.stopListening()
	if _, err := os.Stat(filepath.Dir(f.path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket's directory is there still: %v", err)
	}
	if err := exchange(); err != nil {
		t.Errorf("the connection ended with its socket: %v", err)
	}
	f.close()
	if _, err := near.Read(make([]byte, 1)); err == nil {
		t.Error("the connection goes on")
	}
}
