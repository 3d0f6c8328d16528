package vip_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// warnings gathers what the provider says in plans and applies; tests see only errors otherwise.
type warnings struct {
	mu   sync.Mutex
	seen []string
}

// providers is acctest.Providers, listened to.
func (w *warnings) providers() map[string]func() (tfprotov6.ProviderServer, error) {
	all := map[string]func() (tfprotov6.ProviderServer, error){}
	for name, make := range acctest.Providers {
		all[name] = func() (tfprotov6.ProviderServer, error) {
			server, err := make()
			return listened{ProviderServer: server, warnings: w}, err
		}
	}
	return all
}

func (w *warnings) note(diags []*tfprotov6.Diagnostic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range diags {
		w.seen = append(w.seen, fmt.Sprintf("%s at %s: %s: %s", d.Severity, d.Attribute, d.Summary, d.Detail))
	}
}

// has looks for a warning with all of the texts.
func (w *warnings) has(texts ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, seen := range w.seen {
		missing := !strings.HasPrefix(seen, tfprotov6.DiagnosticSeverityWarning.String())
		for _, text := range texts {
			missing = missing || !strings.Contains(seen, text)
		}
		if !missing {
			return nil
		}
	}
	return fmt.Errorf("no warning with %q, but:\n%s", texts, strings.Join(w.seen, "\n"))
}

type listened struct {
	tfprotov6.ProviderServer
	warnings *warnings
}

func (l listened) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp, err := l.ProviderServer.PlanResourceChange(ctx, req)
	if resp != nil {
		l.warnings.note(resp.Diagnostics)
	}
	return resp, err
}

func (l listened) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp, err := l.ProviderServer.ApplyResourceChange(ctx, req)
	if resp != nil {
		l.warnings.note(resp.Diagnostics)
	}
	return resp, err
}
