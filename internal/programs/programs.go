// Package programs has what the provider's own binary serves on other machines, each by a subcommand.
package programs

import (
	"context"
	"os"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/bmc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/netboot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/webfiles"
)

// Run runs the program that the first argument names, until it ends; ran is false where it names none. Who serves the provider from another
// binary, as tests do, calls it first: that binary is what is put on machines then.
func Run(version string, args []string) (ran bool, err error) {
	if len(args) == 0 {
		return false, nil
	}
	ctx := context.Background()
	switch args[0] {
	case "bmc": // on a hypervisor; see virtcluster_bmc
		return true, bmc.Main(ctx, version, args[1:], os.Stderr)
	case "netboot": // on a service node; see virtcluster_boot_server
		return true, netboot.Main(ctx, args[1:], os.Stderr)
	case "webfiles": // on a service node; see virtcluster_http_content
		return true, webfiles.Main(ctx, args[1:], os.Stderr)
	}
	return false, nil
}
