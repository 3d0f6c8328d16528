package hypervisor

import "testing"

func TestNestedVirtualisationIsThatOfEitherVendor(t *testing.T) {
	t.Parallel()
	for feature, want := range map[string]bool{"vmx": true, "svm": true, "vmx-apicv-register": false, "svme-addr-chk": false} {
		t.Run(feature, func(t *testing.T) {
			t.Parallel()
			if got := offersNesting([]string{"aes", feature}); got != want {
				t.Errorf("%s: %t", feature, got)
			}
		})
	}
}
