package functions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	v3_0 "github.com/coreos/ignition/v2/config/v3_0"
	v3_1 "github.com/coreos/ignition/v2/config/v3_1"
	v3_2 "github.com/coreos/ignition/v2/config/v3_2"
	v3_3 "github.com/coreos/ignition/v2/config/v3_3"
	v3_4 "github.com/coreos/ignition/v2/config/v3_4"
	v3_5 "github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/vcontext/report"
	"github.com/hashicorp/terraform-plugin-framework/function"
)

// NewIgnitionMerge makes ignition_merge.
func NewIgnitionMerge() function.Function {
	return named{"ignition_merge", function.Definition{
		Summary: "Several Ignition configurations as one",
		MarkdownDescription: "Merges Ignition configurations (specification 3.0 to 3.5) by Ignition's own rules: what a later one says goes before what an earlier one says, " +
			"files, units and users are matched by their path or name, and lists without one are joined. The result has the highest version among them.",
		VariadicParameter: function.StringParameter{Name: "configs", MarkdownDescription: "Ignition configurations as JSON."},
		Return:            function.StringReturn{},
	}, mergeIgnition}
}

func mergeIgnition(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var configs []string
	if err := arguments.Get(ctx, &configs); err != nil {
		return nil, err
	}
	if len(configs) == 0 {
		return nil, function.NewFuncError("There is nothing to merge: write one or more Ignition configurations")
	}
	newest := ""
	for i, config := range configs {
		version, err := ignitionVersion(config)
		if err != nil {
			return nil, refuseArgument(int64(i), err)
		}
		newest = max(newest, version) // all are 3.N.0 with one digit
	}
	merged, at, err := mergers[newest](configs)
	if err != nil {
		return nil, refuseArgument(int64(at), err)
	}
	return merged, nil
}

// merger merges configurations of its own version and older ones; at is the one that an error is about.
type merger func(configs []string) (merged string, at int, err error)

// mergers by version: an older Ignition could not read a newer version than it was given.
var mergers = map[string]merger{
	"3.0.0": mergeWith(v3_0.ParseCompatibleVersion, v3_0.Merge),
	"3.1.0": mergeWith(v3_1.ParseCompatibleVersion, v3_1.Merge),
	"3.2.0": mergeWith(v3_2.ParseCompatibleVersion, v3_2.Merge),
	"3.3.0": mergeWith(v3_3.ParseCompatibleVersion, v3_3.Merge),
	"3.4.0": mergeWith(v3_4.ParseCompatibleVersion, v3_4.Merge),
	"3.5.0": mergeWith(v3_5.ParseCompatibleVersion, v3_5.Merge),
}

func mergeWith[T any](parse func([]byte) (T, report.Report, error), merge func(parent, child T) T) merger {
	return func(configs []string) (string, int, error) {
		var merged T
		for i, text := range configs {
			config, problems, err := parse([]byte(text))
			if err != nil {
				return "", i, fmt.Errorf("invalid Ignition configuration: %s", ignitionWords(problems, err))
			}
			if i == 0 {
				merged = config
			} else {
				merged = merge(merged, config)
			}
		}
		out, err := json.Marshal(merged)
		return string(out), 0, err
	}
}

// ignitionWords are Ignition's own, with line and column, or the error where it has none.
func ignitionWords(problems report.Report, err error) string {
	var fatal []string
	for _, e := range problems.Entries {
		if e.Kind.IsFatal() {
			fatal = append(fatal, e.String())
		}
	}
	if len(fatal) == 0 {
		return err.Error()
	}
	return strings.Join(fatal, "; ")
}

func ignitionVersion(config string) (string, error) {
	var header struct {
		Ignition struct {
			Version string `json:"version"`
		} `json:"ignition"`
	}
	if err := json.Unmarshal([]byte(config), &header); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			before := config[:syntax.Offset]
			line := 1 + strings.Count(before, "\n")
			return "", fmt.Errorf("it is no JSON: line %d column %d: %w", line, len(before)-strings.LastIndex(before, "\n")-1, err)
		}
		return "", fmt.Errorf("it is no Ignition configuration: %w", err)
	}
	if _, known := mergers[header.Ignition.Version]; !known {
		versions := make([]string, 0, len(mergers))
		for v := range mergers {
			versions = append(versions, v)
		}
		slices.Sort(versions)
		return "", fmt.Errorf("its ignition.version is %q: there are %s", header.Ignition.Version, strings.Join(versions, ", "))
	}
	return header.Ignition.Version, nil
}
