package hypervisor

import (
	"errors"
	"strings"
	"testing"
)

func TestARawVolumeThatNoFileHoldsIsExplained(t *testing.T) {
	cause := errors.New("File too large")
	for _, c := range []struct {
		format    string
		gib       uint64
		explained bool
	}{{"raw", 16384, true}, {"raw", 2097152, true}, {"raw", 16383, false}, {"qcow2", 2097152, false}} {
		t.Run(c.format, func(t *testing.T) {
			err := explainRawSize(cause, c.format, c.gib<<30)
			if !errors.Is(err, cause) || strings.Contains(err.Error(), "size_gib") != c.explained {
				t.Errorf("%s of %d GiB: %v", c.format, c.gib, err)
			}
		})
	}
}
