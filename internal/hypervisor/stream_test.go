package hypervisor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libvirt.org/go/libvirtxml"
)

// sender is a daemon that sends content down a stream before it answers the call for it, as libvirtd does when the
// thread that answers is late. It says on finished with which status the client took leave; one that only hangs up
// leaves none.
func sender(conn net.Conn, content []byte, finished chan<- uint32) {
	defer close(finished)
	defer func() { _ = conn.Close() }()
	for {
		head := make([]byte, headerLength)
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head))-headerLength); err != nil {
			return
		}
		send := func(kind, status uint32, payload []byte) {
			header := appendUint32(appendUint32(bytes.Clone(head[4:16]), kind), binary.BigEndian.Uint32(head[20:]))
			_, _ = conn.Write(append(appendUint32(append(appendUint32(nil, uint32(headerLength+len(payload))), header...), status), payload...))
		}
		switch proc, kind := binary.BigEndian.Uint32(head[12:]), binary.BigEndian.Uint32(head[16:]); {
		case kind == packetStream:
			finished <- binary.BigEndian.Uint32(head[24:])
			send(packetStream, statusOK, nil)
			return
		case proc == rpcAuthList:
			send(packetReply, statusOK, appendUint32(appendUint32(nil, 1), authNone))
		case proc == rpcDownload:
			send(packetStream, statusContinue, content)
			send(packetReply, statusOK, nil)
			send(packetStream, statusContinue, nil)
		default:
			send(packetReply, statusOK, nil)
		}
	}
}

func TestADownloadTakesLeaveOfTheDaemon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	finished := make(chan uint32, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			close(finished)
			return
		}
		sender(conn, []byte("content"), finished)
	}()

	c := newClient(t, "qemu:///system?socket="+path)
	var got bytes.Buffer
	v := &Volume{Pool: "p", XML: libvirtxml.StorageVolume{Name: "v"}}
	if err := c.DownloadVolume(t.Context(), v, 0, 0, &got); err != nil || got.String() != "content" {
		t.Errorf("%q, %v", got.String(), err)
	}
	if status, said := <-finished; !said || status != statusOK {
		t.Errorf("the client said %t, status %d", said, status)
	}
}

// A daemon that goes on sending must not fill the memory, nor one whose volume says that it is enormous.
func TestAPeekTakesNoMoreThanItAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go sender(conn, []byte("content"), make(chan uint32, 1))
		}
	}()
	c := newClient(t, "qemu:///system?socket="+path)
	v := &Volume{Pool: "p", XML: libvirtxml.StorageVolume{Name: "v"}}
	for name, x := range map[string]struct {
		length  uint64
		got     string
		refused string
	}{
		"as much as asked for": {7, "content", ""},
		"less":                 {8, "content", ""},
		"more":                 {6, "", "more of the volume than it was asked for"},
		"nothing":              {0, "", ""},
		"all of a large one":   {1 << 40, "", "are the most"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.PeekVolume(t.Context(), v, 0, x.length)
			if string(got) != x.got || (err == nil) != (x.refused == "") || err != nil && !strings.Contains(err.Error(), x.refused) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestAStreamWaitsForADaemonThatRestarts(t *testing.T) {
	listen := func(path string) net.Listener {
		listener, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		return listener
	}
	path := filepath.Join(t.TempDir(), "sock")
	c := newClient(t, "qemu:///system?socket="+path)
	v := &Volume{Pool: "p", XML: libvirtxml.StorageVolume{Name: "v"}}
	serve := func(listener net.Listener) {
		defer func() { _ = listener.Close() }()
		if conn, err := listener.Accept(); err == nil {
			sender(conn, []byte("content"), make(chan uint32, 1))
		}
	}
	read := func() error {
		var got bytes.Buffer
		err := c.DownloadVolume(t.Context(), v, 0, 0, &got)
		if err == nil && got.String() != "content" {
			t.Errorf("got %q", got.String())
		}
		return err
	}
	// One that never was there is not waited for.
	start := time.Now()
	if _, ok := errors.AsType[*UnreachableError](read()); !ok || time.Since(start) > restartPatience/2 {
		t.Errorf("after %s not told that nobody is there", time.Since(start))
	}
	first := listen(path)
	go serve(first)
	if err := read(); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	refused := make(chan error)
	go func() { refused <- read() }()
	// It finds nobody at first, and tries until somebody is there.
	select {
	case err := <-refused:
		t.Fatalf("not waited: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	go serve(listen(path))
	if err := <-refused; err != nil {
		t.Error(err)
	}
}

func TestAStreamGivesUpOnADaemonThatHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	listener, err := net.Listen("unix", path) // which the system connects to, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	c := newClient(t, "qemu:///system?socket="+path)
	c.ssh.ConnectTimeout = 50 * time.Millisecond
	_, err = c.openStream(t.Context(), "upload", rpcUpload, nil)
	if _, ok := errors.AsType[*UnreachableError](err); !ok || !strings.Contains(err.Error(), "no answer in time") || !strings.Contains(err.Error(), "where it hangs") {
		t.Errorf("got %v", err)
	}
}
