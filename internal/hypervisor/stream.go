package hypervisor

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/digitalocean/go-libvirt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
)

// go-libvirt's own streams know no holes, copy every packet twice, and never return when the daemon goes
// away or refuses the last byte. So a stream has a connection of its own here, which also keeps it from
// holding up everyone else's calls, and ends by closing it.
//
// The protocol: https://libvirt.org/kbase/internals/rpc.html. A packet is its length, six words of header
// and a payload in XDR (RFC 4506).
const (
	remoteProgram = 0x20008086 // REMOTE_PROGRAM of remote_protocol.x

	rpcConnectOpen = 1
	rpcAuthList    = 66
	rpcAuthPolkit  = 70
	rpcUpload      = 208
	rpcDownload    = 209

	authNone, authPolkit = 0, 2

	packetCall, packetReply, packetStream, packetHole = 0, 1, 3, 6

	statusOK, statusError, statusContinue = 0, 1, 2

	headerLength = 28
	// packetLimit is VIR_NET_MESSAGE_MAX: no daemon sends more.
	packetLimit = 32 << 20
)

// stream is a connection that carries one libvirt stream.
type stream struct {
	ctx    context.Context
	uri    string
	what   string
	conn   net.Conn
	reader *bufio.Reader
	serial uint32
	proc   uint32
	early  []answer // of the stream, which came before the answer to the call that starts it
	once   sync.Once
	stop   func() bool
}

// answer is a packet that a daemon sends and that belongs to the running call.
type answer struct {
	kind, status uint32
	payload      []byte
}

// daemonError is libvirt.Error where the daemon sent one.
func (a answer) daemonError() error {
	if a.status == statusError {
		return decodeRefusal(a.payload)
	}
	return nil
}

// openStream connects and makes the call that starts a stream. Whoever opens it closes it. The context
// bounds its whole life.
func (c *Client) openStream(ctx context.Context, what string, proc uint32, arguments []byte) (*stream, error) {
	var s *stream
	err := c.retryConnect(ctx, func() (err error) {
		s, err = c.newStream(ctx, what)
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s on hypervisor %s: %w", what, c.uri, context.Cause(ctx))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if _, err := failpoint.Send(ctx, what, func() ([]byte, error) { return s.makeCall(proc, arguments) }); err != nil {
		s.closeConnection()
		if c.awaitDaemon(ctx, err) {
			return c.openStream(ctx, what, proc, arguments)
		}
		return nil, s.explainError(err)
	}
	return s, nil
}

// newStream makes the connection for a stream. It fails with *UnreachableError.
func (c *Client) newStream(ctx context.Context, what string) (*stream, error) {
	opening, cancel := context.WithTimeout(ctx, c.attemptTimeout())
	defer cancel()
	conn, address, err := c.target.dialTarget(opening, c.remote)
	if err != nil {
		return nil, c.newUnreachableError(opening, address, err)
	}
	s := &stream{ctx: ctx, uri: c.uri, what: what, conn: conn, reader: bufio.NewReaderSize(conn, 64<<10)}
	s.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	inTime := context.AfterFunc(opening, func() { _ = conn.Close() })
	err = s.open(c.target.remoteURI)
	if !inTime() && err == nil {
		err = opening.Err()
	}
	if err != nil {
		s.closeConnection()
		return nil, c.newUnreachableError(opening, address, err)
	}
	return s, nil
}

func (s *stream) open(remoteURI string) error {
	if err := s.authenticateUser(); err != nil {
		return err
	}
	// remote_connect_open_args: an optional name and flags.
	_, err := s.makeCall(rpcConnectOpen, appendUint32(appendText(appendUint32(nil, 1), remoteURI), 0))
	return err
}

// authenticateUser does what go-libvirt does: nothing, or PolicyKit, which asks the daemon about our user id.
func (s *stream) authenticateUser() error {
	answer, err := s.makeCall(rpcAuthList, nil)
	if err != nil {
		return err
	}
	for len(answer) >= 8 { // the first word is their number
		answer = answer[4:]
		switch binary.BigEndian.Uint32(answer) {
		case authNone:
			return nil
		case authPolkit:
			_, err := s.makeCall(rpcAuthPolkit, nil)
			return err
		}
	}
	return nil
}

// makeCall makes a call and waits for its answer. The daemon answers in one thread and begins to send in another: what is
// in the stream may come first.
func (s *stream) makeCall(proc uint32, arguments []byte) ([]byte, error) {
	s.serial++
	s.proc = proc
	if err := s.sendPacket(packetCall, statusOK, arguments); err != nil {
		return nil, err
	}
	for {
		switch a, err := s.readPacket(); {
		case err != nil:
			return nil, err
		case a.kind == packetReply:
			return a.payload, a.daemonError()
		default:
			s.early = append(s.early, a)
		}
	}
}

// receivePacket takes the next packet of the stream. The error is libvirt.Error where the daemon sent one.
func (s *stream) receivePacket() ([]byte, error) {
	if len(s.early) > 0 {
		a := s.early[0]
		s.early = s.early[1:]
		return a.payload, a.daemonError()
	}
	a, err := s.readPacket()
	if err != nil {
		return nil, err
	}
	return a.payload, a.daemonError()
}

// sendPacket writes one packet.
func (s *stream) sendPacket(kind, status uint32, payload []byte) error {
	header := make([]byte, 0, headerLength)
	for _, w := range []uint32{uint32(headerLength + len(payload)), remoteProgram, 1, s.proc, kind, s.serial, status} {
		header = appendUint32(header, w)
	}
	packet := net.Buffers{header, payload}
	_, err := packet.WriteTo(s.conn)
	return err
}

// readPacket reads the next packet that belongs to the running call.
func (s *stream) readPacket() (answer, error) {
	for {
		var header [headerLength]byte
		if _, err := io.ReadFull(s.reader, header[:]); err != nil {
			return answer{}, err
		}
		field := func(n int) uint32 { return binary.BigEndian.Uint32(header[4*n:]) }
		length := field(0)
		if length < headerLength || length > packetLimit {
			return answer{}, fmt.Errorf("the hypervisor sent a packet of %d bytes", length)
		}
		payload := make([]byte, length-headerLength)
		if _, err := io.ReadFull(s.reader, payload); err != nil {
			return answer{}, err
		}
		if field(1) == remoteProgram && field(5) == s.serial { // others are events and keep-alives
			return answer{kind: field(4), status: field(6), payload: payload}, nil
		}
	}
}

// decodeRefusal reads remote_error: code, domain, an optional message, and more that is of no use here.
func decodeRefusal(payload []byte) error {
	if len(payload) < 4 {
		return errors.New("the hypervisor sent an error without a code")
	}
	e := libvirt.Error{Code: binary.BigEndian.Uint32(payload), Message: "unknown reason"}
	if len(payload) >= 16 && binary.BigEndian.Uint32(payload[8:]) == 1 {
		if n := int(binary.BigEndian.Uint32(payload[12:])); n <= len(payload)-16 {
			e.Message = string(payload[16 : 16+n])
		}
	}
	return e
}

// explainError makes an error of the stream one for people: whose fault it was, and what was attempted.
func (s *stream) explainError(err error) error {
	switch {
	case err == nil:
		return nil
	case s.ctx.Err() != nil:
		return fmt.Errorf("%s on hypervisor %s: %w", s.what, s.uri, context.Cause(s.ctx))
	case breaksConnection(err):
		return &BrokenError{URI: s.uri, What: s.what, Err: err}
	}
	return explainError(s.what, err)
}

// closeConnection ends the connection, and with it a stream that is not finished.
func (s *stream) closeConnection() {
	s.once.Do(func() {
		s.stop()
		_ = s.conn.Close()
	})
}

// appendUint32 appends an unsigned integer in XDR, long a hyper, text a string.
func appendUint32(b []byte, w uint32) []byte { return binary.BigEndian.AppendUint32(b, w) }

func appendUint64(b []byte, w uint64) []byte { return binary.BigEndian.AppendUint64(b, w) }

func appendText(b []byte, s string) []byte {
	b = append(appendUint32(b, uint32(len(s))), s...)
	return append(b, make([]byte, -len(s)&3)...)
}
