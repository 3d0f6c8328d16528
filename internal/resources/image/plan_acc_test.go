package image_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// A CD-ROM is a raw disk to a machine, whatever libvirt calls its format.
func TestAccImageOfACDROMIsRaw(t *testing.T) {
	acctest.InSandbox(t)
	iso := disk(12)
	copy(iso[0x8000:], "\x01CD001\x01") // ECMA-119, 8.4
	asked := resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(address, "format", "raw"), func(*terraform.State) error {
		if seen := acctest.Virsh(t, "vol-dumpxml", "--pool", "images", "i"); !strings.Contains(seen, "<format type='iso'/>") {
			t.Errorf("libvirt does not take it for a CD-ROM, so this proves nothing: %s", seen)
		}
		return nil
	})
	source := file(t, iso)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config(source, "  format = \"raw\"\n"), Check: asked},
			{Config: config(source, ""), PlanOnly: true},
		},
	})
}

// What is not known when it is planned may turn out to be another file, and another checksum.
func TestAccImageWhoseSourceIsNotKnownAtPlan(t *testing.T) {
	acctest.InSandbox(t)
	first, second := disk(13), disk(14)
	late := func(source, more string) string {
		return fmt.Sprintf("resource \"terraform_data\" \"late\" {\n  input = %q\n}\n", source) +
			strings.Replace(config("LATE", more), `"LATE"`, "terraform_data.late.output", 1)
	}
	lateSum := func(source, sum string) string {
		sum = strings.Trim(strings.TrimPrefix(strings.TrimSpace(sum), "checksum = "), `"`)
		return fmt.Sprintf("resource \"terraform_data\" \"late\" {\n  input = %q\n}\n", sum) + config(source, "  checksum = terraform_data.late.output\n")
	}
	one, two, copied := file(t, first), file(t, second), file(t, first)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: late(one, ""), Check: stored(t, first)},
			{Config: late(two, ""), Check: stored(t, second)},
			{Config: late(two, checksum(second)), Check: stored(t, second)},
			{Config: late(one, checksum(first)), Check: stored(t, first)},
			// The checksum says that the content is the same.
			{Config: late(copied, checksum(first)), Check: stored(t, first), ConfigPlanChecks: updated()},
			{Config: lateSum(copied, checksum(first)), Check: stored(t, first)},
			{Config: lateSum(two, checksum(second)), Check: stored(t, second)},
		},
	})
}
