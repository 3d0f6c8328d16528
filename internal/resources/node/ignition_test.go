package node

import "testing"

const (
	butaneText   = "variant: fcos\nversion: 1.5.0\nstorage: { files: [{ path: /etc/hello, contents: { inline: world } }] }\n"
	ignitionText = `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/hello"}]}}`
)

func TestFirstBootConfigurationIsComparedByWhatTheGuestGets(t *testing.T) {
	imported, err := translate(butaneText)
	if err != nil {
		t.Fatal(err)
	}
	butane := func(s string) *version { return &version{model: model{Butane: text(s)}} }
	ignition := func(s string) *version { return &version{model: model{Ignition: text(s)}} }
	for name, c := range map[string]struct {
		planned, prior *version
		kept           bool
	}{
		"imported Butane":          {butane(butaneText), butane(imported), true},
		"another comment":          {butane("# hello\n" + butaneText), butane(butaneText), true},
		"Butane that differs":      {butane("variant: fcos\nversion: 1.5.0\n"), butane(imported), false},
		"malformed Butane":         {butane("variant: fcos\n"), butane(imported), false},
		"Ignition of other spaces": {ignition("\n" + ignitionText + "\n"), ignition(ignitionText), true},
		"Ignition that differs":    {ignition(`{"ignition":{"version":"3.4.0"}}`), ignition(ignitionText), false},
		"Butane for Ignition":      {butane(butaneText), ignition(imported), false}, // only what is there already can be kept
	} {
		keepIgnition(c.planned, c.prior)
		if kept := c.planned.Ignition.Equal(c.prior.Ignition) && c.planned.Butane.Equal(c.prior.Butane); kept != c.kept {
			t.Errorf("%s: kept is %t", name, kept)
		}
	}
	if handed, err := ignitionOf(butane(imported)); err != nil || handed != imported {
		t.Errorf("an imported node's guest would get %s, %v", handed, err)
	}
	if _, err := translate(`{"variant": "fcos", "version": "1.5.0"}`); err != nil {
		t.Errorf("Butane written as JSON: %v", err)
	}
}
