package sshhost

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestNothingListensIsToldAtOnceWithTheAddress(t *testing.T) {
	s, h := reach(t)
	s.listener.Close()
	start := time.Now()
	_, err := h.Run(t.Context(), sh("true"))
	unreachable, ok := errors.AsType[*ConnectError](err)
	if !ok || !strings.Contains(err.Error(), s.address) || !strings.Contains(err.Error(), "refused") || len(unreachable.Addresses) != 1 {
		t.Errorf("got %v", err)
	}
	if time.Since(start) > time.Second {
		t.Errorf("took %s", time.Since(start))
	}
}

func TestEveryAddressThatWasTriedIsNamed(t *testing.T) {
	_, err := dialFirst(t.Context(), []string{"127.0.0.1:1", "127.0.0.2:1", "[::1]:1"}, (&net.Dialer{}).DialContext)
	for _, address := range []string{"127.0.0.1:1", "127.0.0.2:1", "[::1]:1"} {
		t.Run(address, func(t *testing.T) {
			if err == nil || !strings.Contains(err.Error(), address) {
				t.Errorf("no %s in %v", address, err)
			}
		})
	}
}

func TestMachineThatSaysNothingFailsWithinConnectTimeout(t *testing.T) {
	s, h := reach(t)
	s.mute.Store(true)
	h.opts.ConnectTimeout = 300 * time.Millisecond
	start := time.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := h.Run(t.Context(), sh("true"))
			if _, ok := errors.AsType[*ConnectError](err); !ok || !strings.Contains(err.Error(), s.address) || !strings.Contains(err.Error(), "300ms") {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(start); took > 2*time.Second || s.accepted.Load() > 2 {
		t.Errorf("%s, %d connections", took, s.accepted.Load())
	}
}

func TestRefusedLoginNamesUserAndKeys(t *testing.T) {
	s, h := reach(t)
	other, _ := keyFile(t)
	h = New(s.target(), Options{PrivateKeyFile: other, KnownHostsFile: h.opts.KnownHostsFile})
	defer h.Close()
	_, err := h.Run(t.Context(), sh("true"))
	if _, ok := errors.AsType[*AuthError](err); !ok || !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), `"root"`) {
		t.Errorf("got %v", err)
	}
}

func TestNoKeyAtAllSaysWhatToDo(t *testing.T) {
	s, h := reach(t)
	h = New(s.target(), Options{KnownHostsFile: h.opts.KnownHostsFile})
	defer h.Close()
	_, err := h.Run(t.Context(), sh("true"))
	if _, ok := errors.AsType[*AuthError](err); !ok || !strings.Contains(err.Error(), "private_key_file") {
		t.Errorf("got %v", err)
	}
}
