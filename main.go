// Terraform and OpenTofu provider for whole virtual cluster topologies.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// version is set by the release build.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "serve for a debugger to attach to")
	flag.Parse()
	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address: "registry.terraform.io/virtcluster/virtcluster",
		Debug:   *debug,
	})
	if err != nil {
		log.Fatal(err)
	}
}
