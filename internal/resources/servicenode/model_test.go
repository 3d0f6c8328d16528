package servicenode

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestAServiceThatIsKnownLaterIsNoneYet(t *testing.T) {
	m := model{Services: types.SetValueMust(types.StringType, []attr.Value{types.StringUnknown(), types.StringValue("bind")})}
	if spec := m.toSpec(); len(spec.Services) != 1 || spec.Services[0] != "bind" {
		t.Errorf("%v", spec.Services)
	}
}
