package node

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// keepSpelling keeps the prior spelling of every address that means the same, so that another spelling is
// no change.
func keepSpelling(planned, was *interfaceModel) {
	keepSameText(&planned.MAC, was.MAC, machine.CanonicalMAC)
	for _, pair := range []struct{ planned, was *types.String }{
		{&planned.IP, &was.IP}, {&planned.IPv6, &was.IPv6}, {&planned.Gateway, &was.Gateway},
	} {
		keepSameText(pair.planned, *pair.was, machine.CanonicalAddress)
	}
	for _, pair := range []struct{ planned, was *types.List }{
		{&planned.Addresses, &was.Addresses}, {&planned.Nameservers, &was.Nameservers}, {&planned.AllowedAddresses, &was.AllowedAddresses},
	} {
		if sameAddresses(*pair.planned, *pair.was) {
			*pair.planned = *pair.was
		}
	}
	if sameSecurity(planned.SecurityRules, was.SecurityRules) {
		planned.SecurityRules = was.SecurityRules
	}
	if sameRoutes(planned.Routes, was.Routes) {
		planned.Routes = was.Routes
	}
}

// sameRoutes says whether two lists of routes have the same ones, however they are spelled.
func sameRoutes(a, b types.List) bool {
	if !convert.Known(a) || !convert.Known(b) {
		return false
	}
	r := &reader{unknown: machine.Places{}}
	x, y := (&interfaceModel{Routes: a}).toSpec(r, 0), (&interfaceModel{Routes: b}).toSpec(r, 0)
	return len(r.unknown) == 0 && slices.Equal(x.Routes, y.Routes)
}

func keepSameText(planned *types.String, was types.String, canonical func(string) string) {
	if convert.Known(*planned) && convert.Known(was) && canonical(planned.ValueString()) == canonical(was.ValueString()) {
		*planned = was
	}
}

func sameAddresses(a, b types.List) bool {
	if !convert.Known(a) || !convert.Known(b) || len(a.Elements()) != len(b.Elements()) {
		return false
	}
	return slices.EqualFunc(convert.Texts(a), convert.Texts(b), func(x, y string) bool { return machine.CanonicalAddress(x) == machine.CanonicalAddress(y) })
}
