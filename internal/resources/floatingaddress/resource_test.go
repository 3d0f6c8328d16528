package floatingaddress

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestTheNameIsThatOfTheAddressHoweverItIsSpelled(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"10.0.0.9": "floating-10.0.0.9", "2001:DB8::9": "floating-2001-db8--9", "2001:db8:0:0::9": "floating-2001-db8--9", "fd00::": "floating-fd00",
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			if got := exposureName(&model{Target: types.StringValue(target)}); got != want {
				t.Errorf("it is %q, want %q", got, want)
			}
		})
	}
}
