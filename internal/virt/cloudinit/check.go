package cloudinit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// kinds are the first lines by which cloud-init knows what user data is (its "User-Data Formats"); a text
// that begins otherwise is ignored with a warning in the guest's log.
var kinds = []string{
	"#cloud-config", "#!", "#include", "#include-once", "#cloud-boothook", "#part-handler", "#upstart-job",
	"#cloud-config-archive", "#cloud-config-jsonp", "## template: jinja", "Content-Type: multipart", "MIME-Version:",
}

// CheckUserData says what is wrong with user or vendor data, with line and column where it is YAML.
func CheckUserData(text string) error {
	first, _, _ := strings.Cut(text, "\n")
	first = strings.TrimRight(first, " \t\r")
	switch {
	case text == "" || strings.HasPrefix(text, "\x1f\x8b"): // gzip is told apart by its magic number
		return nil
	case first == "#cloud-config":
		return checkMapping(text)
	case first == "#cloud-config-archive":
		return checkYAML(text, new(any))
	case slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(text, kind) }):
		return nil
	}
	return fmt.Errorf("line 1, column 1: cloud-init ignores user data that begins with %q: begin with \"#cloud-config\" for YAML or \"#!/bin/sh\" for a script", abbreviateText(first))
}

// CheckMapping says what is wrong with metadata or a network configuration: both are YAML mappings.
func CheckMapping(text string) error { return checkMapping(text) }

// CheckNetworkConfig says what is wrong with a network configuration of the user's own.
func CheckNetworkConfig(text string) error {
	var config struct {
		Version int            `yaml:"version"`
		Network map[string]any `yaml:"network"`
	}
	if err := checkMapping(text); err != nil {
		return err
	}
	if err := checkYAML(text, &config); err != nil {
		return err
	}
	if config.Network == nil && config.Version != 1 && config.Version != 2 {
		return errors.New("line 1, column 1: cloud-init needs \"version: 1\" or \"version: 2\" at the top of a network configuration")
	}
	return nil
}

func checkMapping(text string) error {
	var got any
	if err := checkYAML(text, &got); err != nil {
		return err
	}
	switch got.(type) {
	case nil, map[string]any, yaml.MapSlice:
		return nil
	}
	return fmt.Errorf("line 1, column 1: must be a YAML mapping such as \"hostname: okd-master-01\", not a %s", kindOf(got))
}

func kindOf(v any) string {
	if _, ok := v.([]any); ok {
		return "list"
	}
	return "single value"
}

// checkYAML unmarshals and turns the parser's complaint into "line L, column C: …".
func checkYAML(text string, into any) error {
	err := yaml.Unmarshal([]byte(text), into)
	if err == nil {
		return nil
	}
	if located, ok := errors.AsType[yaml.Error](err); ok && located.GetToken() != nil {
		at := located.GetToken().Position
		return fmt.Errorf("line %d, column %d: %s", at.Line, at.Column, located.GetMessage())
	}
	return err
}

func abbreviateText(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// MetaData completes a machine's metadata: an instance id, by which cloud-init knows that it boots another
// machine, and a host name, unless the text has them.
func MetaData(text, instanceID, hostname string) (string, error) {
	var own map[string]any
	if err := checkYAML(text, &own); err != nil {
		return "", err
	}
	var missing strings.Builder
	if _, has := own["instance-id"]; !has {
		fmt.Fprintf(&missing, "instance-id: %q\n", instanceID)
	}
	if _, has := own["local-hostname"]; !has {
		fmt.Fprintf(&missing, "local-hostname: %q\n", hostname)
	}
	switch {
	case missing.Len() == 0:
		return text, nil
	case text == "":
		return missing.String(), nil
	case len(own) == 0: // an import tells by this that something was written
		return missing.String() + "# and nothing else\n", nil
	}
	// Rendered again, because what is missing cannot be put before or after every way to write a mapping.
	rendered, err := yaml.Marshal(own)
	if err != nil {
		return "", fmt.Errorf("cannot render metadata: %w", err)
	}
	return missing.String() + string(rendered), nil
}

// SameMetaData says whether two texts tell a machine the same once MetaData has completed them.
func SameMetaData(a, b, instanceID, hostname string) bool {
	var all [2]map[string]any
	for i, text := range []string{a, b} {
		completed, err := MetaData(text, instanceID, hostname)
		if err != nil || checkYAML(completed, &all[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(all[0], all[1])
}
