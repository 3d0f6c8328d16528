package acctest

import "testing"

func TestFaultsOfMessagesAreFound(t *testing.T) {
	for message, faulty := range map[string]bool{
		"The value is wrong: write an address, not \"a: Bad one\".":                                     false,
		"The plan is Terraform's; Ignition: Butane is read.":                                            false,
		"It ends.\nThe next line begins with a capital.":                                                false,
		"The value is wrong: Cannot be read.":                                                           true,
		"The value is %!s(*big.Float=1.5).":                                                             true,
		"Value Conversion Error: …":                                                                     true,
		"This is always an error in the provider.\nError: Value %!s(*big.Float=1.5) is not an integer.": false,
	} {
		t.Run(message, func(t *testing.T) {
			if fault := FaultOf(message); (fault != "") != faulty {
				t.Errorf("%q: %q", message, fault)
			}
		})
	}
}
