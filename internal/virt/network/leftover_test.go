package network

import (
	"path/filepath"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/goldentest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// What networks of other programs and people have, as libvirt has it, and no attribute says: of all else there is nothing to be told.
func TestWhatOfANetworkIsNotModelledIsListed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../peer/testdata/*/networks/*.xml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no network: %v", err)
	}
	for _, name := range []string{"bridge", "foreign", "full", "isolated", "nat", "route6"} {
		files = append(files, "testdata/"+name+".xml")
	}
	goldentest.CompareUnmodelled(t, files, func(xml string) ([]service.Unmodelled, error) {
		d, err := Parse(xml)
		if err != nil {
			return nil, err
		}
		return listUnmodelled(xml, d)
	})
}
