package hunt

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"
)

// dataPrefix tells data sources from resources.
const dataPrefix = "data "

// look is what a life is to a data source: it is checked while planning, and read there, or by the apply where the configuration
// is not known before.
func (c *core) look(ctx context.Context, t trial, atPlan, atApply cty.Value) (o outcome) {
	err := c.walk(ctx, false, func(w *walk) error {
		if err := w.checkData(t.subject.kind, atPlan); err != nil || !atPlan.IsWhollyKnown() {
			return err
		}
		return w.readData(t.subject.kind, atPlan)
	})
	if err == nil && !atPlan.IsWhollyKnown() {
		err = c.walk(ctx, true, func(w *walk) error {
			err := w.checkData(t.subject.kind, atApply)
			if err == nil {
				err = w.readData(t.subject.kind, atApply)
			}
			if err != nil {
				err = &lateError{err}
			}
			return err
		})
	}
	var late *lateError
	var no *refused
	switch {
	case errors.As(err, &late) && errors.As(err, &no):
		o.atApply = err
	case errors.As(err, &no):
		o.atPlan, o.misplaced = err, !mentions(no, t.mutations)
	case err != nil:
		o.broken = err
	}
	return o
}

func (w *walk) checkData(kind string, config cty.Value) (err error) {
	defer protect(&err)
	resp, err := w.server.ValidateDataResourceConfig(w, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: strings.TrimPrefix(kind, dataPrefix), Config: w.encode(kind, config)})
	if err != nil {
		return err
	}
	return judge(resp.Diagnostics)
}

func (w *walk) readData(kind string, config cty.Value) (err error) {
	defer protect(&err)
	resp, err := w.server.ReadDataSource(w, &tfprotov6.ReadDataSourceRequest{TypeName: strings.TrimPrefix(kind, dataPrefix), Config: w.encode(kind, config)})
	if err == nil {
		err = judge(resp.Diagnostics)
	}
	if err != nil {
		return err
	}
	got, err := w.decode(kind, resp.State)
	switch {
	case err != nil:
		return err
	case got.IsNull() || !got.IsWhollyKnown():
		return &broken{"a read returned nothing, or unknown values"}
	}
	if wrong := wrongPlan(w.types[kind], cty.NullVal(got.Type()), config, got, kind); len(wrong) > 0 {
		return &broken{strings.Join(wrong, "; ")}
	}
	return nil
}
