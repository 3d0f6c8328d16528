package hypervisor

import (
	"slices"
	"testing"
)

func TestOnlyPoolTypesWithADriverAreOffered(t *testing.T) {
	t.Parallel()
	got, err := parsePoolTypes(`<storagepoolCapabilities><pool type='dir' supported='yes'><poolOptions/></pool><pool type='rbd' supported='no'/><pool type='netfs' supported='yes'/></storagepoolCapabilities>`)
	if err != nil || !slices.Equal(got, []string{"dir", "netfs"}) {
		t.Errorf("offered are %v, %v", got, err)
	}
	if _, err := parsePoolTypes("none"); err == nil {
		t.Error("anything is understood")
	}
}
