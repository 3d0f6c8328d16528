package hypervisor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

// HostRoute is a route of the hypervisor's own machine.
type HostRoute struct {
	Destination netip.Prefix
	Device      string
	// Direct says that the destination is on the device itself, not behind a router.
	Direct bool
}

// PlanRoutes reads the routes of the hypervisor's own machine, without default and link-local ones, for
// cross-checks at plan time; the answer is shared as PlanNetworks' is. It is empty where the URI's transport
// gives no access to the machine (tcp, tls).
func (c *Client) PlanRoutes(ctx context.Context) ([]HostRoute, error) {
	c.plan.mu.Lock()
	defer c.plan.mu.Unlock()
	if time.Since(c.plan.routesAt) < planFor {
		return c.plan.routes, nil
	}
	var routes []HostRoute
	for path, parse := range map[string]func([]byte) ([]HostRoute, error){"/proc/net/route": parseRoutes4, "/proc/net/ipv6_route": parseRoutes6} {
		content, err := c.HostFile(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6, or a transport without access
		}
		if err != nil {
			return nil, fmt.Errorf("read the hypervisor's routes: %w", err)
		}
		parsed, err := parse(content)
		if err != nil {
			return nil, fmt.Errorf("parse %s of the hypervisor: %w", path, err)
		}
		routes = append(routes, parsed...)
	}
	c.plan.routes, c.plan.routesAt = routes, time.Now()
	return routes, nil
}

// HostFile reads a file of the hypervisor's machine; fs.ErrNotExist is also the answer where the transport gives no
// access to it.
func (c *Client) HostFile(ctx context.Context, path string) ([]byte, error) {
	switch {
	case c.remote != nil:
		return c.remote.Read(ctx, path)
	case c.Local():
		return os.ReadFile(path)
	}
	return nil, fs.ErrNotExist
}

// Flags of a route (linux/route.h).
const (
	routeUp      = 0x1
	routeGateway = 0x2
)

// parseRoutes4 reads /proc/net/route: addresses are hexadecimal in the machine's byte order, which is little
// endian wherever KVM runs but on s390x; there the file is of no use and yields nothing that could collide.
func parseRoutes4(content []byte) ([]HostRoute, error) {
	var routes []HostRoute
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 8 || f[0] == "Iface" {
			continue
		}
		destination, err1 := strconv.ParseUint(f[1], 16, 32)
		flags, err2 := strconv.ParseUint(f[3], 16, 32)
		mask, err3 := strconv.ParseUint(f[7], 16, 32)
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		var d, m [4]byte
		binary.LittleEndian.PutUint32(d[:], uint32(destination))
		binary.LittleEndian.PutUint32(m[:], uint32(mask))
		bits := ones(netip.AddrFrom4(m))
		if flags&routeUp != 0 && bits > 0 {
			routes = append(routes, HostRoute{netip.PrefixFrom(netip.AddrFrom4(d), bits).Masked(), f[0], flags&routeGateway == 0})
		}
	}
	return routes, lines.Err()
}

// parseRoutes6 reads /proc/net/ipv6_route.
func parseRoutes6(content []byte) ([]HostRoute, error) {
	var routes []HostRoute
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 {
			continue
		}
		raw, err1 := hex.DecodeString(f[0])
		bits, err2 := strconv.ParseUint(f[1], 16, 8)
		flags, err3 := strconv.ParseUint(f[8], 16, 32)
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		address, ok := netip.AddrFromSlice(raw)
		if !ok || flags&routeUp == 0 || bits == 0 || bits == 128 || address.IsLinkLocalUnicast() || address.IsMulticast() || f[9] == "lo" {
			continue
		}
		routes = append(routes, HostRoute{netip.PrefixFrom(address, int(bits)), f[9], flags&routeGateway == 0})
	}
	return routes, lines.Err()
}
