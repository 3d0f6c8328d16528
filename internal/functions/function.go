// Package functions holds the provider's functions.
package functions

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/function"
)

// named is a function: its name, how it is called, and what it returns, or which argument is wrong and why.
type named struct {
	name       string
	definition function.Definition
	run        func(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError)
}

// Metadata implements function.Function.
func (f named) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = f.name
}

// Definition implements function.Function.
func (f named) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = f.definition
}

// Run implements function.Function.
func (f named) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	result, err := f.run(ctx, req.Arguments)
	if resp.Error = err; err == nil {
		resp.Error = resp.Result.Set(ctx, result)
	}
}

// refuseArgument says what is wrong with an argument; the CLI ends it with a full stop.
func refuseArgument(at int64, err error) *function.FuncError {
	text := err.Error()
	return function.NewArgumentFuncError(at, strings.ToUpper(text[:1])+text[1:])
}
