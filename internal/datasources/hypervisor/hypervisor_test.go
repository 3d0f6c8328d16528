package hypervisor

import "testing"

func TestNestedVirtualisationIsThatOfEitherVendor(t *testing.T) {
	for feature, want := range map[string]bool{"vmx": true, "svm": true, "vmx-apicv-register": false, "svme-addr-chk": false} {
		if got := offersNesting([]string{"aes", feature}); got != want {
			t.Errorf("%s: %t", feature, got)
		}
	}
}
