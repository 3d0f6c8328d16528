package node

import (
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// keepSpelling keeps the prior spelling of every address that means the same, so that another spelling is
// no change.
func keepSpelling(planned, was *interfaceModel) {
	same(&planned.MAC, was.MAC, canonicalMAC)
	for _, pair := range []struct{ planned, was *types.String }{
		{&planned.IP, &was.IP}, {&planned.IPv6, &was.IPv6}, {&planned.Gateway, &was.Gateway},
	} {
		same(pair.planned, *pair.was, canonicalAddress)
	}
	for _, pair := range []struct{ planned, was *types.List }{
		{&planned.Addresses, &was.Addresses}, {&planned.Nameservers, &was.Nameservers}, {&planned.AllowedAddresses, &was.AllowedAddresses},
	} {
		if sameAddresses(*pair.planned, *pair.was) {
			*pair.planned = *pair.was
		}
	}
}

func same(planned *types.String, was types.String, canonical func(string) string) {
	if known(*planned) && known(was) && canonical(planned.ValueString()) == canonical(was.ValueString()) {
		*planned = was
	}
}

func sameAddresses(a, b types.List) bool {
	if !known(a) || !known(b) || len(a.Elements()) != len(b.Elements()) {
		return false
	}
	return slices.EqualFunc(texts(a), texts(b), func(x, y string) bool { return canonicalAddress(x) == canonicalAddress(y) })
}

// canonicalAddress spells an address or a prefix canonically; anything else stays as it is.
func canonicalAddress(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().String()
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.String()
	}
	return text
}
