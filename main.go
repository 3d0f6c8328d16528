// Terraform and OpenTofu provider for whole virtual cluster topologies.
package main

import (
	"flag"
	"log"
	"os"
	"runtime/debug"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// version is set by the release build; else it is read from what Go has written into the program.
var version string

// A provider lives for seconds and keeps little: to collect garbage whenever a few megabytes came together takes a
// quarter of its time. Where it does keep a lot, the limit makes it collect as often as ever.
const (
	garbagePercent = 400
	memoryLimit    = 256 << 20
)

// findVersion returns the version of a program that was built with information: that of a release, or of the module that `go install` was
// asked for, without its v; else "dev".
func findVersion(release string, info *debug.BuildInfo) string {
	switch {
	case release != "":
		return release
	case info != nil && strings.HasPrefix(info.Main.Version, "v"):
		return info.Main.Version[1:]
	}
	return "dev"
}

func main() {
	info, _ := debug.ReadBuildInfo()
	version = findVersion(version, info)
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
