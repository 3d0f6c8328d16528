package machine

import (
	"context"
	"net/netip"
	"strings"
)

// KeyfilesOf are the files that a machine's Ignition configuration hands to NetworkManager: path → content.
func KeyfilesOf(s *Spec) map[string]string {
	files := map[string]string{}
	for _, k := range buildKeyfiles(s.Interfaces) {
		files[k.path] = k.content
	}
	return files
}

// Address, Addresses and Prefixes read what tests write; of "" there is none.
func Address(text string) netip.Addr { return append(Addresses(text), netip.Addr{})[0] }

func Addresses(texts ...string) []netip.Addr {
	return parseFields(strings.Join(texts, " "), netip.ParseAddr)
}

func Prefixes(texts ...string) []netip.Prefix {
	return parseFields(strings.Join(texts, " "), netip.ParsePrefix)
}

// SettleMove brings to an end what a move has left behind.
func SettleMove(ctx context.Context, s *Store) error { return s.settleMove(ctx) }
