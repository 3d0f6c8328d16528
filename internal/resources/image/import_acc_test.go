package image_test

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccImageImportedIsLeftAsItIs(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	source := file(t, disk(7))
	run(t, "virsh", "pool-define-as", "imported", "dir", "--target", poolDir)
	run(t, "virsh", "pool-build", "imported")
	content, err := os.ReadFile(source)
	if err == nil {
		err = os.WriteFile(poolDir+"/i", content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, "virsh", "pool-start", "imported")
	t.Cleanup(func() {
		run(t, "virsh", "pool-destroy", "imported")
		run(t, "virsh", "pool-delete", "imported")
		run(t, "virsh", "pool-undefine", "imported")
	})
	config := func(more string) string {
		return acctest.Provider() + "resource \"virtcluster_image\" \"i\" {\n  name = \"i\"\n  pool = \"imported\"\n  source = \"" + source + "\"\n" + more + "}\n"
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config(""), ResourceName: address, ImportState: true, ImportStateId: "imported/i", ImportStatePersist: true},
			{Config: config(""), PlanOnly: true},
			{Config: config(checksum(content)), PlanOnly: true},
			{Config: config(fmt.Sprintf("  checksum = \"SHA512:%X\"\n", sha512.Sum512(content))), PlanOnly: true},
			{Config: config(checksum(content[1:])), PlanOnly: true, ExpectNonEmptyPlan: true},
			{Config: config(checksum(content)), Check: resource.TestCheckResourceAttr(address, "checksum", fmt.Sprintf("sha256:%x", sha256.Sum256(content)))},
			// From the first change on, the source is known.
			{Config: config("  timeouts = { create = \"5m\" }\n"), Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(address, "source", source), resource.TestCheckNoResourceAttr(address, "checksum"))},
		},
	})
}
