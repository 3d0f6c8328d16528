package hypervisor

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"testing"

	"libvirt.org/go/libvirtxml"
)

// sender is a daemon that sends content down a stream. It says on finished with which status the client took leave;
// one that only hangs up leaves none.
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
			header := word(word(bytes.Clone(head[4:16]), kind), binary.BigEndian.Uint32(head[20:]))
			_, _ = conn.Write(append(word(append(word(nil, uint32(headerLength+len(payload))), header...), status), payload...))
		}
		switch proc, kind := binary.BigEndian.Uint32(head[12:]), binary.BigEndian.Uint32(head[16:]); {
		case kind == packetStream:
			finished <- binary.BigEndian.Uint32(head[24:])
			send(packetStream, statusOK, nil)
			return
		case proc == rpcAuthList:
			send(1, statusOK, word(word(nil, 1), authNone))
		case proc == rpcDownload:
			send(1, statusOK, nil)
			send(packetStream, statusContinue, content)
			send(packetStream, statusContinue, nil)
		default:
			send(1, statusOK, nil)
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
