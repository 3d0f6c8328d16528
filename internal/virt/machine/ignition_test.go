package machine

import "testing"

const (
	butaneText   = "variant: fcos\nversion: 1.5.0\nstorage: { files: [{ path: /etc/hello, contents: { inline: world } }] }\n"
	ignitionText = `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/hello"}]}}`
)

func TestFirstBootConfigurationIsComparedByWhatTheGuestGets(t *testing.T) {
	imported, err := TranslateButane(butaneText)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		canonical      func(string) string
		planned, prior string
		kept           bool
	}{
		"imported Butane":          {CanonicalButane, butaneText, imported, true},
		"another comment":          {CanonicalButane, "# hello\n" + butaneText, butaneText, true},
		"Butane that differs":      {CanonicalButane, "variant: fcos\nversion: 1.5.0\n", imported, false},
		"malformed Butane":         {CanonicalButane, "variant: fcos\n", imported, false},
		"Ignition of other spaces": {CanonicalIgnition, "\n" + ignitionText + "\n", ignitionText, true},
		"Ignition that differs":    {CanonicalIgnition, `{"ignition":{"version":"3.4.0"}}`, ignitionText, false},
		"Butane for Ignition":      {CanonicalIgnition, butaneText, imported, false}, // only what is there already can be kept
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if kept := c.canonical(c.planned) == c.canonical(c.prior); kept != c.kept {
				t.Errorf("%s: kept is %t", name, kept)
			}
		})
	}
	if handed, err := renderIgnition(&Spec{Butane: imported}); err != nil || handed != imported {
		t.Errorf("an imported node's guest would get %s, %v", handed, err)
	}
	if _, err := TranslateButane(`{"variant": "fcos", "version": "1.5.0"}`); err != nil {
		t.Errorf("Butane written as JSON: %v", err)
	}
}
