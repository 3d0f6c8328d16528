package hypervisor

import (
	"bytes"
	"testing"
)

func TestProcessorsAreBits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cpus []int
		want []byte
	}{"the first": {[]int{0}, []byte{1}}, "several": {[]int{1, 7, 8, 17}, []byte{0x82, 0x01, 0x02}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := newProcessorMap(c.cpus); !bytes.Equal(got, c.want) {
				t.Errorf("%v is %x, want %x", c.cpus, got, c.want)
			}
		})
	}
}
