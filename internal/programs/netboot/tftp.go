package netboot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// What TFTP's packets say (RFC 1350), and its options (RFC 2347 to 2349).
const (
	tftpRead  = 1
	tftpData  = 3
	tftpAck   = 4
	tftpError = 5
	tftpOACK  = 6

	tftpUndefined  = 0
	tftpNotFound   = 1
	tftpAccess     = 2
	tftpIllegal    = 4
	tftpBlock      = 512
	tftpMostBlock  = 1468 // what goes into one packet of Ethernet
	tftpMostQuery  = 1024
	tftpTries      = 6
	tftpAtOnce     = 256
	tftpFirstDelay = time.Second
)

// serveTFTP answers reads until the socket is closed. Each transfer has a socket of its own.
func (s *service) serveTFTP(socket net.PacketConn) error {
	slots := make(chan struct{}, tftpAtOnce)
	query := make([]byte, tftpMostQuery)
	for {
		n, client, err := socket.ReadFrom(query)
		if err != nil {
			return err
		}
		packet := bytes.Clone(query[:n])
		select {
		case slots <- struct{}{}:
			go func() {
				defer func() { <-slots }()
				s.answerRead(socket, client, packet)
			}()
		default: // it asks again
		}
	}
}

// answerRead answers one read.
func (s *service) answerRead(socket net.PacketConn, client net.Addr, packet []byte) {
	own, _ := socket.LocalAddr().(*net.UDPAddr)
	to, _ := client.(*net.UDPAddr)
	conn, err := net.DialUDP("udp", &net.UDPAddr{IP: own.IP}, to)
	if err != nil {
		s.log.Printf("tftp %s: %v", client, err)
		return
	}
	defer func() { _ = conn.Close() }()
	name, options, err := parseRead(packet)
	if err != nil {
		sendError(conn, tftpIllegal, err.Error())
		return
	}
	err = s.answerTFTP(conn, client, name, options)
	s.log.Printf("tftp %s %s: %v", client, name, err)
}

// answerTFTP sends what is served by HTTP under a name, as GRUB fetches all of a machine's files by TFTP.
func (s *service) answerTFTP(conn net.Conn, client net.Addr, name string, options map[string]string) (err error) {
	request := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/" + name}, RemoteAddr: client.String(), Header: http.Header{}}
	answer := &tftpAnswer{conn: conn, name: name, options: options, header: http.Header{}, left: -1}
	defer func() {
		if why := recover(); why != nil { // as http.Server does: it came to no end
			err = fmt.Errorf("%v: %w", why, errors.Join(answer.err, io.ErrUnexpectedEOF))
			sendError(conn, tftpUndefined, name+" cannot be read to its end")
		}
	}()
	s.ServeHTTP(answer, request)
	return answer.endAnswer()
}

// tftpAnswer sends an HTTP answer by TFTP. The last block goes as soon as the length that was announced has come, so that whoever wrote all of it
// knows that the client has it.
type tftpAnswer struct {
	conn    net.Conn
	name    string
	options map[string]string
	header  http.Header
	status  int
	size    int
	block   uint16
	waits   []byte // what is not sent yet, less than a block
	left    int64  // what is still to come of the announced length; -1 where nobody said it
	err     error  // that of the connection, or io.EOF after the last block
}

// Header implements http.ResponseWriter.
func (a *tftpAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter: it agrees on the options, or refuses.
func (a *tftpAnswer) WriteHeader(status int) {
	if a.status != 0 {
		return
	}
	if a.status = status; status != http.StatusOK {
		code := uint16(tftpAccess)
		if status == http.StatusNotFound {
			code = tftpNotFound
		}
		sendError(a.conn, code, a.name+" is not served")
		a.err = errors.New(http.StatusText(status))
		return
	}
	if length, err := strconv.ParseInt(a.header.Get("Content-Length"), 10, 64); err == nil {
		a.left = length
	}
	size, accepted := acceptOptions(a.options, a.left)
	if a.size = size; len(accepted) > 2 {
		a.err = sendPacket(a.conn, accepted, 0)
	}
	if a.left == 0 {
		_ = a.endAnswer()
	}
}

// Write implements http.ResponseWriter.
func (a *tftpAnswer) Write(content []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.waits = append(a.waits, content...)
	for a.err == nil && len(a.waits) >= a.size {
		a.err = a.sendBlock(a.waits[:a.size])
		a.waits = a.waits[a.size:]
	}
	if a.err == nil && a.left >= 0 {
		if a.left -= int64(len(content)); a.left <= 0 {
			_ = a.endAnswer()
		}
	}
	if a.err != nil && !errors.Is(a.err, io.EOF) {
		return 0, a.err
	}
	return len(content), nil
}

// endAnswer sends the last block, which is shorter than the others, and returns what kept the answer from its end.
func (a *tftpAnswer) endAnswer() error {
	a.WriteHeader(http.StatusOK)
	if a.err == nil && a.left <= 0 {
		a.err = a.sendBlock(a.waits)
		if a.err == nil {
			a.err = io.EOF
		}
	}
	switch {
	case errors.Is(a.err, io.EOF):
		return nil
	case a.err == nil:
		a.err = io.ErrUnexpectedEOF
	}
	return a.err
}

func (a *tftpAnswer) sendBlock(content []byte) error {
	a.block++
	packet := binary.BigEndian.AppendUint16(nil, tftpData)
	packet = append(binary.BigEndian.AppendUint16(packet, a.block), content...)
	return sendPacket(a.conn, packet, a.block)
}

func sendError(conn net.Conn, code uint16, words string) {
	packet := binary.BigEndian.AppendUint16(nil, tftpError)
	packet = append(binary.BigEndian.AppendUint16(packet, code), words...)
	_, _ = conn.Write(append(packet, 0))
}

// parseRead reads a request: the file, and the options that are asked for, by their names in lower case.
func parseRead(packet []byte) (name string, options map[string]string, err error) {
	if len(packet) < 4 || packet[len(packet)-1] != 0 {
		return "", nil, errors.New("no request")
	}
	if binary.BigEndian.Uint16(packet) != tftpRead {
		return "", nil, errors.New("files can be read, and nothing else")
	}
	words := strings.Split(string(packet[2:len(packet)-1]), "\x00")
	if len(words) < 2 || len(words)%2 != 0 || words[0] == "" {
		return "", nil, errors.New("no request")
	}
	if mode := strings.ToLower(words[1]); mode != "octet" && mode != "netascii" {
		return "", nil, errors.New("the mode is octet")
	}
	options = map[string]string{}
	for i := 2; i < len(words); i += 2 {
		options[strings.ToLower(words[i])] = words[i+1]
	}
	return words[0], options, nil
}

// acceptOptions returns the size of a block, and the packet that says which of the options hold for a file of a length, -1 where nobody knows it.
func acceptOptions(options map[string]string, length int64) (size int, packet []byte) {
	size = tftpBlock
	packet = binary.BigEndian.AppendUint16(nil, tftpOACK)
	if n, err := strconv.Atoi(options["blksize"]); err == nil && n >= 8 {
		size = min(n, tftpMostBlock)
		packet = append(packet, "blksize\x00"+strconv.Itoa(size)+"\x00"...)
	}
	if _, asked := options["tsize"]; asked && length >= 0 {
		packet = append(packet, "tsize\x00"+strconv.FormatInt(length, 10)+"\x00"...)
	}
	return size, packet
}

// sendPacket sends a packet until it is acknowledged, a few times.
func sendPacket(conn net.Conn, packet []byte, block uint16) error {
	answer := make([]byte, tftpMostQuery)
	delay := tftpFirstDelay
	for range tftpTries {
		if _, err := conn.Write(packet); err != nil {
			return err
		}
		end := time.Now().Add(delay)
		for {
			if err := conn.SetReadDeadline(end); err != nil {
				return err
			}
			n, err := conn.Read(answer)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return err
			}
			if n < 4 {
				continue
			}
			switch binary.BigEndian.Uint16(answer) {
			case tftpError:
				return errors.New("the client ended it: " + strings.Trim(string(answer[4:n]), "\x00"))
			case tftpAck:
				if binary.BigEndian.Uint16(answer[2:]) == block {
					return nil
				}
			}
		}
		delay = min(2*delay, 8*time.Second)
	}
	return io.ErrNoProgress
}
