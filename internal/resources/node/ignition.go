package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	ignition "github.com/coreos/ignition/v2/config"
	ignitionerrors "github.com/coreos/ignition/v2/config/shared/errors"
	newest "github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/vcontext/report"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/cloudinit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// ignition hands the configuration over in a file, because a command line has no room for all of it.
func (r *resolver) ignition(ctx context.Context, b *build) error {
	text, err := ignitionOf(r.v)
	if err != nil || text == "" {
		return err
	}
	own, err := r.file(ctx, b, machine.Ignition, "-ignition.json", []byte(text))
	if err != nil {
		return err
	}
	b.machine.IgnitionFile = own.file()
	if r.existing != nil && r.existing.IgnitionFile == own.file() {
		b.rewrite = append(b.rewrite, own)
		return nil
	}
	b.volumes = append(b.volumes, own)
	return nil
}

// ignitionOf is the node's Ignition configuration, translated where it is Butane; "" for none.
func ignitionOf(v *version) (string, error) {
	if text := v.Ignition.ValueString(); text != "" {
		return text, nil
	}
	if text := v.Butane.ValueString(); text != "" {
		return translate(text)
	}
	return "", nil
}

// translate turns Butane into Ignition. The error names line and column. What was translated already stays as it is:
// all that is left of an imported node's Butane is what it became.
func translate(text string) (string, error) {
	if translated(text) {
		return text, checkIgnition(text)
	}
	result, r, err := config.TranslateBytes([]byte(text), common.TranslateBytesOptions{})
	if r.IsFatal() {
		return "", reported(r)
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

// translated tells Ignition from Butane, which is YAML and may be written as JSON too, but names its variant.
func translated(text string) bool {
	var c struct {
		Variant  any
		Ignition *struct{ Version string }
	}
	return json.Unmarshal([]byte(text), &c) == nil && c.Variant == nil && c.Ignition != nil && c.Ignition.Version != ""
}

// keepIgnition keeps the prior text of a configuration that hands the same over to the guest: other spaces and
// comments, or for an imported node what its Butane became, are no change.
func keepIgnition(planned, prior *version) {
	if known(planned.Ignition) && known(prior.Ignition) && sameJSON(planned.Ignition.ValueString(), prior.Ignition.ValueString()) {
		planned.Ignition = prior.Ignition
	}
	if !known(planned.Butane) || !known(prior.Butane) || planned.Butane.Equal(prior.Butane) {
		return
	}
	is, err := translate(planned.Butane.ValueString())
	was, err2 := translate(prior.Butane.ValueString())
	if err == nil && err2 == nil && sameJSON(is, was) {
		planned.Butane = prior.Butane
	}
}

// sameJSON says that two texts are JSON of one meaning.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// checkIgnition says what Ignition itself would say about a configuration, with line and column.
func checkIgnition(text string) error {
	_, r, err := ignition.Parse([]byte(text))
	switch {
	case r.IsFatal():
		return reported(r)
	case errors.Is(err, ignitionerrors.ErrUnknownVersion):
		line, column := position(text, `"version"`)
		return fmt.Errorf("line %d, column %d: %w: write one from \"3.0.0\" to %q as ignition.version", line, column, err, newest.MaxVersion)
	}
	return err
}

// position is where a text first has a word; 1 and 1 where it has none.
func position(text, word string) (line, column int) {
	before, _, found := strings.Cut(text, word)
	if !found {
		return 1, 1
	}
	return strings.Count(before, "\n") + 1, len(before) - strings.LastIndex(before, "\n")
}

// doubts is what Ignition or Butane would let pass and warn of, such as a key that means nothing.
func (v *version) doubts() string {
	if known(v.Butane) {
		if _, r, err := config.TranslateBytes([]byte(v.Butane.ValueString()), common.TranslateBytesOptions{}); err == nil && !r.IsFatal() {
			return entries(r, report.Warn)
		}
	}
	if known(v.Ignition) {
		if _, r, err := ignition.Parse([]byte(v.Ignition.ValueString())); err == nil && !r.IsFatal() {
			return entries(r, report.Warn)
		}
	}
	return ""
}

// reported joins a report's errors.
func reported(r report.Report) error { return errors.New(entries(r, report.Error)) }

// entries joins what a report says of one kind, with line and column.
func entries(r report.Report, kind report.EntryKind) string {
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
