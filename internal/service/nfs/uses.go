package nfs

import "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"

// Uses implements plan.User: a directory is exported once.
func (e Export) Uses() []plan.Use {
	return []plan.Use{{Kind: plan.NFSExport, Value: e.Path, Path: []any{"path"}}}
}
