package netboot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
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
		refuse(conn, tftpIllegal, err.Error())
		return
	}
	content, err := s.tftpFile(name)
	if err != nil {
		s.log.Printf("tftp %s %s: %v", client, name, err)
		code := uint16(tftpAccess)
		if errors.Is(err, os.ErrNotExist) {
			code = tftpNotFound
		}
		refuse(conn, code, name+" is not served")
		return
	}
	err = sendBlocks(conn, content, options)
	s.log.Printf("tftp %s %s: %v", client, name, err)
}

// tftpFile is what is served under a name: loaders, and iPXE's first script.
func (s *service) tftpFile(name string) ([]byte, error) {
	c := s.config.Load()
	switch name = strings.TrimPrefix(path.Clean("/"+name), "/"); {
	case name == "boot.ipxe":
		return []byte(c.Server.firstScript()), nil
	case isLoader(name):
		return os.ReadFile(filepath.Join(c.Server.Loaders, name))
	}
	return nil, os.ErrNotExist
}

func refuse(conn net.Conn, code uint16, words string) {
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

// sendBlocks sends a file, block by block, each once the one before has arrived.
func sendBlocks(conn net.Conn, content []byte, options map[string]string) error {
	size := tftpBlock
	accepted := binary.BigEndian.AppendUint16(nil, tftpOACK)
	if n, err := strconv.Atoi(options["blksize"]); err == nil && n >= 8 {
		size = min(n, tftpMostBlock)
		accepted = append(accepted, "blksize\x00"+strconv.Itoa(size)+"\x00"...)
	}
	if _, asked := options["tsize"]; asked {
		accepted = append(accepted, "tsize\x00"+strconv.Itoa(len(content))+"\x00"...)
	}
	if len(accepted) > 2 {
		if err := sendPacket(conn, accepted, 0); err != nil {
			return err
		}
	}
	for block := uint16(1); ; block++ {
		n := min(size, len(content))
		packet := binary.BigEndian.AppendUint16(nil, tftpData)
		packet = append(binary.BigEndian.AppendUint16(packet, block), content[:n]...)
		if err := sendPacket(conn, packet, block); err != nil {
			return err
		}
		if content = content[n:]; n < size {
			return nil
		}
	}
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
