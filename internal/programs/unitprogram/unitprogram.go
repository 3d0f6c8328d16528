// Package unitprogram is what the provider's programs on machines have in common: they are told what to do by files of JSON with a comment in
// the first line, serve until systemd ends them, and tell it how they are.
package unitprogram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
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

// Program serves at its ports until it is told to end. The zero value is one without any.
type Program struct {
	// Reload reads the configuration anew when systemd asks for that (SIGHUP); its error ends the program, which systemd starts again where the
	// words are seen. Nil takes the signal as any other program does.
	Reload func(ctx context.Context) error
	// Repeat is called each Interval; nil for nothing.
	Repeat   func(ctx context.Context)
	Interval time.Duration

	servers []func(ctx context.Context) error
	closers []func() error
}

// AddServer has serve called when the program runs, which it ends with; stop closes what serve listens at.
func (p *Program) AddServer(serve func(ctx context.Context) error, stop func() error) {
	p.servers, p.closers = append(p.servers, serve), append(p.closers, stop)
}

// Close closes all ports.
func (p *Program) Close() error {
	var errs []error
	for _, stop := range p.closers {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}

// Run serves, and tells systemd that all ports are open, until the context ends, the program is told to end, or a server fails.
func (p *Program) Run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	hangup := make(chan os.Signal, 1)
	if p.Reload != nil {
		signal.Notify(hangup, syscall.SIGHUP)
		defer signal.Stop(hangup)
	}
	failed := make(chan error, len(p.servers))
	for _, serve := range p.servers {
		go func() { failed <- serve(ctx) }()
	}
	var repeat <-chan time.Time
	if p.Repeat != nil {
		ticker := time.NewTicker(p.Interval)
		defer ticker.Stop()
		repeat = ticker.C
	}
	if err := Ready(); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			if ctx.Err() != nil {
				return nil
			}
			return err
		case <-repeat:
			p.Repeat(ctx)
		case <-hangup:
			if err := p.Reload(ctx); err != nil {
				return err
			}
			if err := Ready(); err != nil {
				return err
			}
		}
	}
}
