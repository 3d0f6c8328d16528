package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	ignition "github.com/coreos/ignition/v2/config"
	ignitionerrors "github.com/coreos/ignition/v2/config/shared/errors"
	newest "github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/vcontext/report"
	"github.com/goccy/go-yaml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/cloudinit"
)

// renderIgnition returns what the guest is handed: the machine's Ignition configuration, translated where it is Butane, and with what
// its interfaces need; "" for none.
func renderIgnition(s *Spec) (string, error) {
	text := s.Ignition
	if text == "" && s.Butane != "" {
		var err error
		if text, err = TranslateButane(s.Butane); err != nil {
			return "", err
		}
	}
	if text == "" || !s.configuresInterfaces() {
		return text, nil
	}
	return addKeyfiles(text, buildKeyfiles(s.Interfaces))
}

// recoverIgnition returns what somebody must have written to have the guest handed so, without what the provider adds for the machine's
// interfaces.
func recoverIgnition(s *Spec, handed string) string {
	if !s.configuresInterfaces() {
		return handed
	}
	return removeKeyfiles(handed, buildKeyfiles(s.Interfaces))
}

// TranslateButane turns Butane into Ignition. The error names line and column. What was translated already stays as it is:
// all that is left of an imported node's Butane is what it became.
func TranslateButane(text string) (string, error) {
	if isIgnition(text) {
		return text, checkIgnition(text)
	}
	if err := checkVariant(text); err != nil {
		return "", err
	}
	result, r, err := config.TranslateBytes([]byte(text), rawIgnition)
	if r.IsFatal() {
		return "", joinReport(r)
	}
	if err != nil {
		// Butane's own YAML parser knows the line alone.
		if located := cloudinit.CheckMapping(text); located != nil {
			return "", located
		}
		return "", err
	}
	return string(result), nil
}

// rawIgnition has every variant of Butane become Ignition: "openshift" would become a MachineConfig, which only a cluster's
// operator can read.
var rawIgnition = common.TranslateBytesOptions{Raw: true}

// checkVariant refuses what of Butane's variant "openshift" has no place in Ignition and would be lost.
func checkVariant(text string) error {
	var c struct {
		Variant   string
		OpenShift map[string]any `yaml:"openshift"`
	}
	// What is no YAML, Butane itself refuses with a place.
	understood := yaml.Unmarshal([]byte(text), &c) == nil
	if !understood || c.Variant != "openshift" || len(c.OpenShift) == 0 {
		return nil
	}
	line, column := findPosition(text, "openshift:")
	return fmt.Errorf("line %d, column %d: %s is for a MachineConfig of a cluster that runs, and Ignition has no place for it: leave out the section openshift, or apply it as a MachineConfig",
		line, column, strings.Join(slices.Sorted(maps.Keys(c.OpenShift)), ", "))
}

// isIgnition tells Ignition from Butane, which is YAML and may be written as JSON too, but names its variant.
func isIgnition(text string) bool {
	var c struct {
		Variant  any
		Ignition *struct{ Version string }
	}
	return json.Unmarshal([]byte(text), &c) == nil && c.Variant == nil && c.Ignition != nil && c.Ignition.Version != ""
}

// CanonicalIgnition spells Ignition without spaces, in the order of its keys: other texts that become the same hand the same over to
// the guest. What is no JSON stays as it is.
func CanonicalIgnition(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	compact, err := compactJSON(v)
	if err != nil {
		return text
	}
	return compact
}

// CanonicalButane is the Ignition that Butane becomes: comments make no difference, and what was translated already, as that of a
// machine that was imported, is the same.
func CanonicalButane(text string) string {
	translated, err := TranslateButane(text)
	if err != nil {
		return text
	}
	return CanonicalIgnition(translated)
}

// checkIgnition says what Ignition itself would say about a configuration, with line and column.
func checkIgnition(text string) error {
	_, r, err := ignition.Parse([]byte(text))
	switch {
	case r.IsFatal():
		return joinReport(r)
	case errors.Is(err, ignitionerrors.ErrUnknownVersion):
		line, column := findPosition(text, `"version"`)
		return fmt.Errorf("line %d, column %d: %w: write one from \"3.0.0\" to %q as ignition.version", line, column, err, newest.MaxVersion)
	}
	return err
}

// findPosition returns where a text first has a word; 1 and 1 where it has none.
func findPosition(text, word string) (line, column int) {
	before, _, found := strings.Cut(text, word)
	if !found {
		return 1, 1
	}
	return strings.Count(before, "\n") + 1, len(before) - strings.LastIndex(before, "\n")
}

// listIgnitionWarnings returns what Ignition or Butane would let pass and warn of, such as a key that means nothing.
func (s *Spec) listIgnitionWarnings() string {
	if s.Butane != "" {
		if _, r, err := config.TranslateBytes([]byte(s.Butane), rawIgnition); err == nil && !r.IsFatal() {
			return joinEntries(r, report.Warn)
		}
	}
	if s.Ignition != "" {
		if _, r, err := ignition.Parse([]byte(s.Ignition)); err == nil && !r.IsFatal() {
			return joinEntries(r, report.Warn)
		}
	}
	return ""
}

// joinReport joins a report's errors.
func joinReport(r report.Report) error { return errors.New(joinEntries(r, report.Error)) }

// joinEntries joins what a report says of one kind, with line and column.
func joinEntries(r report.Report, kind report.EntryKind) string {
	var all []string
	for _, e := range r.Entries {
		if e.Kind != kind {
			continue
		}
		place := ""
		if e.Marker.StartP != nil {
			place = fmt.Sprintf("line %d, column %d: ", e.Marker.StartP.Line, e.Marker.StartP.Column)
		}
		at := e.Context.String()
		if at != "" {
			at = " (at " + at + ")"
		}
		all = append(all, place+e.Message+at)
	}
	return strings.Join(all, "; ")
}
