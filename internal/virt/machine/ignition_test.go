package machine

import "testing"

const (
	butaneText   = "variant: fcos\nversion: 1.5.0\nstorage: { files: [{ path: /etc/hello, contents: { inline: world } }] }\n"
	ignitionText = `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/hello"}]}}`
)

func TestFirstBootConfigurationIsComparedByWhatTheGuestGets(t *testing.T) {
	imported, err := translateButane(butaneText)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		same           func(a, b string) bool
		planned, prior string
		kept           bool
	}{
		"imported Butane":          {SameButane, butaneText, imported, true},
		"another comment":          {SameButane, "# hello\n" + butaneText, butaneText, true},
		"Butane that differs":      {SameButane, "variant: fcos\nversion: 1.5.0\n", imported, false},
		"malformed Butane":         {SameButane, "variant: fcos\n", imported, false},
		"Ignition of other spaces": {SameIgnition, "\n" + ignitionText + "\n", ignitionText, true},
		"Ignition that differs":    {SameIgnition, `{"ignition":{"version":"3.4.0"}}`, ignitionText, false},
		"Butane for Ignition":      {SameIgnition, butaneText, imported, false}, // only what is there already can be kept
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if kept := c.same(c.planned, c.prior); kept != c.kept {
				t.Errorf("%s: kept is %t", name, kept)
			}
		})
	}
	if handed, err := renderIgnition(&Spec{Butane: imported}); err != nil || handed != imported {
		t.Errorf("an imported node's guest would get %s, %v", handed, err)
	}
	if _, err := translateButane(`{"variant": "fcos", "version": "1.5.0"}`); err != nil {
		t.Errorf("Butane written as JSON: %v", err)
	}
}
