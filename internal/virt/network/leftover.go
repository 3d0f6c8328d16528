package network

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/leftover"
)

// filledIn is what libvirt writes into a network's XML by itself, what says the same in other words, and what other resources are: a
// reservation is one by itself, or its machine's.
var filledIn = []string{
	"/network/uuid", "/network/mac", "/network/bridge/@name", "/network/bridge/@stp=on", "/network/bridge/@delay=0", "/network/@connections", "/network/@ipv6=no",
	"/network/forward/@dev", "/network/forward/nat/port/@start=1024", "/network/forward/nat/port/@end=65535", "/network/forward/nat/port", "/network/forward/nat/@ipv6=no",
	"/network/ip/@family=ipv4", "/network/ip/@netmask", "/network/ip/dhcp/host", "/network/route/@family=ipv4", "/network/dns/@enable=yes", "/network/dns/@forwardPlainNames=yes",
	"/network/domain/@localOnly=no", "/network/metadata/virtcluster:*",
}

// ListUnmodelled lists what of the network's definition no attribute says. It implements crud.Inspector.
func (s *Store) ListUnmodelled(ctx context.Context) ([]service.Unmodelled, error) {
	n, err := s.Client.Network(ctx, s.Ref)
	if err != nil {
		return nil, markAbsent(err)
	}
	got, err := readSpec(n, s.Known...)
	if err != nil {
		return nil, err
	}
	return listUnmodelled(n.ConfigXML, got.Definition)
}

// listUnmodelled lists what of a definition in XML the values that were read from it do not say.
func listUnmodelled(xml string, d Definition) ([]service.Unmodelled, error) {
	modelled, err := d.Render("")
	if err != nil {
		return nil, err
	}
	return leftover.Find(xml, modelled, filledIn...)
}
