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
)

// HostRoute is a route of the hypervisor's own machine.
type HostRoute struct {
	Destination netip.Prefix
	Device      string
	// Via is the router; the invalid address where the destination is on the device itself.
	Via netip.Addr
}

// HostRoutes reads all routes of the hypervisor's own machine that lead out by a device. The answer is shared as PlanNetworks'
// is, and not to be changed. It is empty where the URI's transport gives no access to the machine (tcp, tls).
func (c *Client) HostRoutes(ctx context.Context) ([]HostRoute, error) {
	return c.plan.routes.askAgain(func() ([]HostRoute, error) { return c.readHostRoutes(ctx) })
}

func (c *Client) readHostRoutes(ctx context.Context) ([]HostRoute, error) {
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
	routeReject  = 0x200
	// Addresses of the machine itself are among the routes of IPv6 (linux/ipv6_route.h).
	routeAnycast = 0x00100000
	routeLocal   = 0x80000000
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
		via, err2 := strconv.ParseUint(f[2], 16, 32)
		flags, err3 := strconv.ParseUint(f[3], 16, 32)
		mask, err4 := strconv.ParseUint(f[7], 16, 32)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return nil, err
		}
		if flags&routeUp == 0 || flags&routeReject != 0 {
			continue
		}
		r := HostRoute{Destination: netip.PrefixFrom(toAddress4(destination), leadingOnes(toAddress4(mask))).Masked(), Device: f[0]}
		if flags&routeGateway != 0 {
			r.Via = toAddress4(via)
		}
		routes = append(routes, r)
	}
	return routes, lines.Err()
}

func toAddress4(n uint64) netip.Addr {
	var a [4]byte
	binary.LittleEndian.PutUint32(a[:], uint32(n))
	return netip.AddrFrom4(a)
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
		destination, err1 := parseAddress6(f[0])
		bits, err2 := strconv.ParseUint(f[1], 16, 8)
		via, err3 := parseAddress6(f[4])
		flags, err4 := strconv.ParseUint(f[8], 16, 32)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return nil, err
		}
		if flags&routeUp == 0 || flags&(routeReject|routeLocal|routeAnycast) != 0 || f[9] == "lo" {
			continue
		}
		r := HostRoute{Destination: netip.PrefixFrom(destination, int(bits)).Masked(), Device: f[9]}
		if flags&routeGateway != 0 {
			r.Via = via
		}
		routes = append(routes, r)
	}
	return routes, lines.Err()
}

func parseAddress6(text string) (netip.Addr, error) {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return netip.Addr{}, err
	}
	a, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.Addr{}, fmt.Errorf("%q is no address", text)
	}
	return a, nil
}
