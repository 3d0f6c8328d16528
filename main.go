// Terraform and OpenTofu provider for whole virtual cluster topologies.
package main

import (
	"flag"
	"log"
	"os"
	"runtime/debug"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// version is set by the release build.
var version = "dev"

// A provider lives for seconds and keeps little: to collect garbage whenever a few megabytes came together takes a
// quarter of its time. Where it does keep a lot, the limit makes it collect as often as ever.
const (
	garbagePercent = 400
	memoryLimit    = 256 << 20
)

func main() {
	if ran, err := programs.Run(version, os.Args[1:]); err != nil {
		log.Fatal(err)
	} else if ran {
		return
	}
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(garbagePercent)
		debug.SetMemoryLimit(memoryLimit)
	}
	debug := flag.Bool("debug", false, "serve for a debugger to attach to")
	flag.Parse()
	var options []tf6server.ServeOpt
	if *debug {
		options = append(options, tf6server.WithManagedDebug())
	}
	server := func() tfprotov6.ProviderServer { return provider.Server(version) }
	if err := tf6server.Serve("registry.terraform.io/virtcluster/virtcluster", server, options...); err != nil {
		log.Fatal(err)
	}
}
