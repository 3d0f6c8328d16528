package hypervisor

import (
	"slices"
	"testing"
)

func TestProcessorsAreTheBitsOfAMap(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		online []byte
		want   []int
	}{"none": {nil, nil}, "four": {[]byte{0x0f}, []int{0, 1, 2, 3}}, "with offline ones between": {[]byte{0x05, 0x01}, []int{0, 2, 8}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := listBits(c.online); !slices.Equal(got, c.want) {
				t.Errorf("processors are %v, want %v", got, c.want)
			}
		})
	}
}
