package hypervisor

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// rpcOpenConsole is REMOTE_PROC_DOMAIN_OPEN_CONSOLE.
const rpcOpenConsole = 201

// console is the serial console of a running machine.
type console struct {
	*stream
	rest []byte
}

// OpenConsole connects to a running machine's serial console, which one reader has at a time: another one's is an Error. The context
// bounds its whole life.
func (c *Client) OpenConsole(ctx context.Context, uuid string) (io.ReadWriteCloser, error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return nil, err
	}
	// remote_domain_open_console_args: the domain as name, UUID and id, no device's name, no flags.
	arguments := slices.Concat(appendText(nil, ref.Name), ref.UUID[:], appendUint32(nil, uint32(ref.ID)))
	s, err := c.openStream(ctx, fmt.Sprintf("open the console of domain %s", uuid), rpcOpenConsole, appendUint32(appendUint32(arguments, 0), 0))
	if err != nil {
		return nil, err
	}
	return &console{stream: s}, nil
}

// Read implements io.Reader.
func (c *console) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		payload, err := c.receivePacket()
		if err != nil {
			return 0, c.explainError(err)
		}
		if len(payload) == 0 { // so the daemon marks the end
			return 0, io.EOF
		}
		c.rest = payload
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Write implements io.Writer.
func (c *console) Write(p []byte) (int, error) {
	for piece := range slices.Chunk(p, packet) {
		if err := c.sendPacket(packetStream, statusContinue, piece); err != nil {
			return 0, c.explainError(err)
		}
	}
	return len(p), nil
}

// Close implements io.Closer.
func (c *console) Close() error {
	c.closeConnection()
	return nil
}
