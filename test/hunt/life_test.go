package hunt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// limit bounds one step of a life.
const limit = 2 * time.Minute

// outcome is how a life ended.
type outcome struct {
	// atPlan and atApply are what the provider refused. misplaced says that the refusal names no attribute that it is about.
	atPlan, atApply error
	misplaced       bool
	// broken is what no user should see.
	broken error
}

// life is one resource of a subject, from nothing to nothing.
type life struct {
	*core
	subject subject
	now     *instance
}

// planned is how a trial's plan ends where no machine is asked, which takes milliseconds.
func (c *core) planned(ctx context.Context, t trial, fixtures map[string]object) (o outcome) {
	of := c.types[t.subject.kind]
	config, _ := resolve(t.config(of), fixtures).(object)
	atPlan := objectValue(of, config, false)
	offline := *c
	offline.config = object{"offline": true, "uri": "qemu:///system", "hypervisors": object{"other": object{"uri": "qemu:///system"}, "rack": object{"uri": rackURI}}}
	err := offline.walk(ctx, false, func(w *walk) error {
		if strings.HasPrefix(t.subject.kind, dataPrefix) {
			return w.checkData(t.subject.kind, atPlan)
		}
		_, err := w.plan(t.subject.kind, nil, atPlan, nil)
		return err
	})
	var no *refused
	if errors.As(err, &no) {
		o.atPlan, o.misplaced = err, !mentions(no, t.mutations)
	} else {
		o.broken = err
	}
	return o
}

// live runs a trial's life: plan, apply, plan again, import, change to the base, back again, destroy.
func (c *core) live(ctx context.Context, t trial, fixtures map[string]object) (o outcome) {
	of := c.types[t.subject.kind]
	config, _ := resolve(t.config(of), fixtures).(object)
	base, _ := resolve(t.subject.base, fixtures).(object)
	if strings.HasPrefix(t.subject.kind, dataPrefix) {
		return c.look(ctx, t, objectValue(of, config, false), objectValue(of, config, true))
	}
	atPlan, atApply, plainBase := objectValue(of, config, false), objectValue(of, config, true), objectValue(of, base, true)
	l := &life{core: c, subject: t.subject}
	var late *lateError
	err := l.become(ctx, atPlan, atApply)
	var no *refused
	switch {
	case errors.As(err, &late) && errors.As(err, &no):
		o.atApply = err
	case errors.As(err, &no):
		o.atPlan = err
		o.misplaced = !mentions(no, t.mutations)
	case err != nil:
		o.broken = err
	default:
		o.broken = l.settledAndBack(ctx, atApply, plainBase, t.isImported())
	}
	if err := l.leave(ctx); err != nil {
		o.broken = errors.Join(o.broken, err)
	}
	return o
}

func (l *life) settledAndBack(ctx context.Context, config, base cty.Value, imported bool) error {
	if err := l.settled(ctx, config, imported); err != nil {
		return err
	}
	if config.RawEquals(base) {
		return nil
	}
	var no *refused
	if err := l.become(ctx, base, base); errors.As(err, &no) {
		return nil // not every change can be made, and the user was told so
	} else if err != nil {
		return fmt.Errorf("change to the base: %w", err)
	}
	if err := l.settled(ctx, base, false); err != nil {
		return fmt.Errorf("after the change to the base: %w", err)
	}
	if err := l.become(ctx, config, config); errors.As(err, &no) {
		return nil
	} else if err != nil {
		return fmt.Errorf("change from the base: %w", err)
	}
	if err := l.settled(ctx, config, false); err != nil {
		return fmt.Errorf("after the change from the base: %w", err)
	}
	return nil
}

// lateError is that of an apply.
type lateError struct{ error }

func (e *lateError) Unwrap() error { return e.error }

// become plans a configuration and applies it.
func (l *life) become(ctx context.Context, atPlan, atApply cty.Value) error {
	planned, err := l.plan(ctx, atPlan)
	if err != nil || planned.nothing {
		return err
	}
	return l.apply(ctx, planned, atApply)
}

func (l *life) plan(ctx context.Context, config cty.Value) (planned *change, err error) {
	err = l.walk(ctx, false, func(w *walk) (err error) {
		if l.now != nil {
			if l.now, err = w.refresh(l.subject.kind, l.now); err != nil {
				return err
			}
		}
		planned, err = w.plan(l.subject.kind, l.now, config, nil)
		return err
	})
	return planned, err
}

func (l *life) apply(ctx context.Context, planned *change, config cty.Value) error {
	return l.walk(ctx, true, func(w *walk) (err error) {
		l.now, err = w.apply(l.subject.kind, l.now, planned, config)
		if err != nil {
			err = &lateError{err}
		}
		return err
	})
}

// settled wants no change for a configuration, and where also none after an import.
func (l *life) settled(ctx context.Context, config cty.Value, imported bool) error {
	err := l.walk(ctx, true, func(w *walk) error {
		now, err := w.refresh(l.subject.kind, l.now)
		if err != nil || now == nil {
			return &broken{fmt.Sprintf("a refresh after the apply: gone %v, %v", now == nil, err)}
		}
		if err := l.unchanged(w, now, config, false); err != nil {
			return fmt.Errorf("not settled: %w", err)
		}
		return nil
	})
	if err != nil || !imported {
		return err
	}
	return l.walk(ctx, true, func(w *walk) error {
		id := l.now.value.GetAttr("id").AsString()
		if l.subject.importID != nil {
			id = l.subject.importID(l.now.value)
		}
		found, err := w.imports(l.subject.kind, id)
		if err != nil {
			return &broken{err.Error()}
		}
		if err := l.unchanged(w, found, config, true); err != nil {
			return fmt.Errorf("after an import: %w", err)
		}
		return nil
	})
}

// unchanged wants a plan without changes. After an import root attributes may change that it cannot know, and so may objects and
// texts that are written empty, which an import takes for left out.
func (l *life) unchanged(w *walk, now *instance, config cty.Value, imported bool) error {
	var may []string
	if imported {
		may = l.subject.unread
	}
	c, err := w.plan(l.subject.kind, now, config, nil)
	if err != nil {
		return &broken{"a plan for what was applied: " + err.Error()}
	}
	if c.nothing || imported && !c.replaces && onlyEmptied(now.value, c.after) {
		return nil
	}
	all := slices.DeleteFunc(differences(now.value, c.after), func(d string) bool {
		name, _, _ := strings.Cut(d, ":")
		return slices.Contains(may, name) || slices.ContainsFunc(w.types[l.subject.kind], func(a *attribute) bool {
			return len(may) > 0 && a.name == name && !a.optional && !a.required // what is computed follows
		})
	})
	if len(all) == 0 && !c.replaces {
		return nil
	}
	slices.Sort(all)
	return &broken{fmt.Sprintf("a plan changes (replaces: %v) %s", c.replaces, strings.Join(all, "; "))}
}

// onlyEmptied says whether a value has nothing over another one but empty objects and texts, be it of blanks, where that is null.
func onlyEmptied(was, now cty.Value) bool {
	switch {
	case !now.IsKnown() || was.RawEquals(now):
		return true
	case now.IsNull():
		return false
	case was.IsNull() && now.Type() == cty.String:
		return strings.TrimSpace(now.AsString()) == ""
	case was.IsNull() && now.Type().IsMapType():
		return now.LengthInt() == 0 // of a zone's records and pointers; other collections are empty after an import
	case was.IsNull() && now.Type().IsObjectType():
		was = cty.ObjectVal(nullsOf(now))
	case was.IsNull() || now.Type().IsPrimitiveType() || !was.Type().Equals(now.Type()):
		return false
	}
	if !now.Type().IsObjectType() && was.LengthInt() != now.LengthInt() || now.Type().IsSetType() {
		return false
	}
	for it := now.ElementIterator(); it.Next(); {
		k, v := it.Element()
		before := cty.NullVal(v.Type())
		switch {
		case now.Type().IsObjectType():
			before = was.GetAttr(k.AsString())
		case was.HasIndex(k).True():
			before = was.Index(k)
		}
		if !onlyEmptied(before, v) {
			return false
		}
	}
	return true
}

func nullsOf(object cty.Value) map[string]cty.Value {
	all := map[string]cty.Value{}
	for name, of := range object.Type().AttributeTypes() {
		all[name] = cty.NullVal(of)
	}
	return all
}

// leave destroys what there is.
func (l *life) leave(ctx context.Context) error {
	if l.now == nil {
		return nil
	}
	return l.walk(ctx, true, func(w *walk) error {
		if err := w.destroy(l.subject.kind, l.now); err != nil {
			return &broken{err.Error()}
		}
		if l.subject.nowhere {
			l.now = nil
			return nil
		}
		left, err := w.refresh(l.subject.kind, l.now)
		if err != nil || left != nil {
			return &broken{fmt.Sprintf("after the destroy: there %v, %v", left != nil, err)}
		}
		l.now = nil
		return nil
	})
}

func (c *core) walk(ctx context.Context, atApply bool, do func(w *walk) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	w, err := c.begin(ctx, atApply)
	defer w.end() //nolint:errcheck // the connection is of no further use
	if err != nil {
		return err
	}
	return do(w)
}

// mentions says whether a refusal is at, or names, an attribute that a trial changes.
func mentions(r *refused, of []mutation) bool {
	for _, d := range r.diagnostics {
		for _, m := range of {
			root, _, _ := strings.Cut(m.path, ".")
			if d.Attribute != nil && strings.Contains(d.Attribute.String(), `"`+root+`"`) {
				return true
			}
		}
	}
	return false
}
