package hunt

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// mutation is one attribute's value in a configuration.
type mutation struct {
	path  string
	class string
	value any
}

func (m mutation) String() string { return m.path + " " + m.class }

// mutations lists what may stand in each attribute of a subject, in a fixed order.
func (s subject) mutations(of []*attribute) []mutation {
	var all []mutation
	s.walk(of, "", func(path string, a *attribute) {
		all = append(all, s.attributeMutations(path, a)...)
	})
	return all
}

func (s subject) walk(of []*attribute, above string, visit func(path string, a *attribute)) {
	for _, a := range of {
		if !a.required && !a.optional {
			continue
		}
		path := strings.TrimPrefix(above+"."+a.name, ".")
		visit(path, a)
		if a.nested != nil {
			s.walk(a.nested, path, visit)
		}
	}
}

func (s subject) attributeMutations(path string, a *attribute) []mutation {
	good, has := s.samples[path]
	var all []mutation
	add := func(class string, v any) { all = append(all, mutation{path, class, v}) }
	if has {
		add("written", good)
		add("unknown", unknown{good})
	}
	if a.optional {
		add("left out", nil)
		add("unknown, then null", unknown{nil})
	}
	switch {
	case a.nested != nil:
		s.nestedMutations(a, good, add)
	case a.kind == cty.String:
		text, _ := good.(string)
		for class, v := range textClasses(text) {
			add(class, v)
		}
		add("unknown, then empty", unknown{""})
	case a.kind == cty.Number:
		for _, v := range numbers {
			add(v, number(v))
		}
	case a.kind == cty.Bool:
		add("true", true)
		add("false", false)
	case a.kind.IsListType() || a.kind.IsSetType():
		s.listMutations(a.kind, good, add)
	case a.kind.IsMapType():
		s.mapMutations(a.kind, good, add)
	}
	slices.SortStableFunc(all, func(a, b mutation) int { return compare(a.class, b.class) })
	return all
}

// numbers are those that a number, or what should be a whole one, may be.
var numbers = []string{
	"0", "-1", "1", "2", "255", "256", "1000", "65535", "65536", "2147483648", "4294967296", "17179869185", "9007199254740993", "9223372036854775807", "9223372036854775808", "1.5", "1e30",
}

func (s subject) nestedMutations(a *attribute, good any, add func(string, any)) {
	if a.nesting == tfprotov6.SchemaObjectNestingModeSingle {
		if !slices.ContainsFunc(a.nested, func(a *attribute) bool { return a.required }) {
			add("empty", object{})
		}
		return
	}
	if l, ok := good.(list); ok || a.nesting == tfprotov6.SchemaObjectNestingModeList {
		add("empty", list{})
		add("null element", list{nil})
		if ok && len(l) > 0 {
			add("twice", append(slices.Clone(l), l[0]))
			add("and a null element", append(slices.Clone(l), nil))
			add("unknown element", list{unknown{l[0]}})
			add("element unknown, then null", list{unknown{nil}})
		}
		return
	}
	add("empty", object{})
	add("null element", object{"k": nil})
	if m, ok := good.(object); ok {
		for _, v := range m {
			for _, key := range []string{"", " ", "a b", "K", "é", "a/b", "a.b", "\n", strings.Repeat("k", 300)} {
				add(fmt.Sprintf("key %.20q", key), object{key: v})
			}
			add("unknown element", object{"k": unknown{v}})
		}
	}
}

func (s subject) listMutations(kind cty.Type, good any, add func(string, any)) {
	add("empty", list{})
	add("null element", list{nil})
	if kind.ElementType() == cty.String {
		add("empty text", list{""})
	}
	add("element unknown, then null", list{unknown{nil}})
	l, _ := good.(list)
	if len(l) == 0 {
		return
	}
	add("and null", append(slices.Clone(l), nil))
	if kind.IsListType() {
		add("twice", append(slices.Clone(l), l[0]))
	}
	add("unknown element", list{unknown{l[0]}})
	if text, ok := l[0].(string); ok {
		for class, v := range textClasses(text) {
			add("element "+class, list{v})
		}
	}
}

func (s subject) mapMutations(kind cty.Type, good any, add func(string, any)) {
	add("empty", object{})
	add("null element", object{"k": nil})
	m, _ := good.(object)
	for _, key := range sorted(m)[:min(len(m), 1)] {
		v := m[key]
		for _, odd := range []string{"", " ", "a b", "K", "é", "a/b", "a;b", "a{b", "\n", strings.ToUpper(key), strings.Repeat("k", 300)} {
			add(fmt.Sprintf("key %.20q", odd), object{odd: v})
		}
		add("unknown element", object{key: unknown{v}})
		add("element unknown, then null", object{key: unknown{nil}})
		switch v := v.(type) {
		case string:
			for class, text := range textClasses(v) {
				add("element "+class, object{key: text})
			}
		case list:
			for class, l := range map[string]any{"empty list": list{}, "list of null": list{nil}, "list of an empty text": list{""}, "twice": append(slices.Clone(v), v[0])} {
				add("element "+class, object{key: l})
			}
		case object:
			for k, l := range v {
				for class, e := range map[string]any{"empty": object{}, "of null": object{k: nil}, "of an empty list": object{k: list{}}, "of an empty text": object{k: list{""}}, "of null in a list": object{k: list{nil}}, "of an empty key": object{"": l}, "in small letters": object{strings.ToLower(k): l}} {
					add("element "+class, object{key: e})
				}
			}
		}
	}
}

// textClasses are texts that may stand where good does.
func textClasses(good string) map[string]string {
	all := map[string]string{
		"empty": "", "blank": " ", "two lines": "x\ny", "quote": "\"", "braces": "{}", "semicolon": "a;", "backslash": `a\b`, "percent": "%s", "not ASCII": "é", "long": strings.Repeat("x", 300),
		"zero": "0", "minus": "-1", "word": "hunter", "tab": "a\tb",
	}
	if good == "" {
		return all
	}
	all["capitals"], all["blanks around"], all["blanks within"] = strings.ToUpper(good), " "+good+" ", strings.ReplaceAll(good, " ", "  ")
	all["line end"] = good + "\n"
	if a, err := netip.ParseAddr(good); err == nil {
		all["zone"], all["prefix"], all["leading zero"], all["IPv4 in IPv6"] = "fe80::1%eth0", good+"/24", "010.0.0.1", "::ffff:10.0.0.1"
		all["unspecified"], all["broadcast"], all["loopback"] = "0.0.0.0", "255.255.255.255", "127.0.0.1"
		if a.Is6() {
			all["written out"] = a.StringExpanded()
		} else {
			all["other family"] = "2001:DB8:0::1"
		}
	}
	if p, err := netip.ParsePrefix(good); err == nil {
		length := fmt.Sprintf("/%d", p.Bits())
		all["no length"], all["host bits"], all["/0"], all["/33"], all["other family"] = p.Addr().String(), p.Addr().Next().String()+length, p.Addr().String()+"/0", p.Addr().String()+"/33", "2001:DB8:0::/64"
		all["host length"], all["leading zero"] = p.Addr().String()+"/32", strings.Replace(good, "/", "/0", 1)
	}
	if _, err := net.ParseMAC(good); err == nil {
		all["dashes"], all["dots"], all["nothing"], all["multicast"], all["broadcast"], all["eight bytes"] = strings.ReplaceAll(good, ":", "-"), "5254.00aa.6c01", "00:00:00:00:00:00", "01:54:00:aa:6c:01", "ff:ff:ff:ff:ff:ff", good+":00:00"
	}
	if d, err := time.ParseDuration(good); err == nil {
		all["nothing"], all["negative"], all["other unit"], all["fraction"], all["no unit"], all["days"], all["huge"], all["thirty days"] = "0s", "-1s", "60000ms", "1.5s", "5", "1d", "9999999h", "720h"
		if d > time.Minute { // a limit, within which something has to be done
			all["fraction"] = "90.5s"
		}
	}
	return all
}

// trial is one configuration of a subject.
type trial struct {
	subject   subject
	mutations []mutation
}

func (t trial) String() string {
	var all []string
	for _, m := range t.mutations {
		all = append(all, m.String())
	}
	return t.kind() + ": " + strings.Join(all, ", ")
}

// kind is the type of a trial's subject, without the prefix.
func (t trial) kind() string { return strings.Replace(t.subject.kind, "virtcluster_", "", 1) }

// isImported says whether an import can find what it configures: not a form that the provider warns of, which no import writes, nor
// what cannot be read without an attribute that no import knows.
func (t trial) isImported() bool {
	return !slices.ContainsFunc(t.mutations, func(m mutation) bool {
		return slices.Contains(t.subject.needed, m.path)
	})
}

// config is the base with the mutations, and what must stand beside them.
func (t trial) config(of []*attribute) object {
	config := clone(t.subject.base).(object)
	for _, m := range t.mutations {
		for k, v := range t.subject.beside[m.path] {
			config[k] = clone(v)
		}
	}
	for _, m := range t.mutations {
		t.subject.set(of, config, "", strings.Split(m.path, "."), clone(m.value))
	}
	return config
}

// set writes a value into a configuration, with samples for what is around it.
func (s subject) set(of []*attribute, into object, above string, path []string, v any) {
	a := find(of, path[:1])
	if len(path) == 1 {
		if v == nil {
			delete(into, a.name)
		} else {
			into[a.name] = v
		}
		return
	}
	here := strings.TrimPrefix(above+"."+a.name, ".")
	if into[a.name] == nil {
		into[a.name] = clone(s.samples[here])
	}
	var inner object
	switch around := into[a.name].(type) {
	case list:
		if len(around) > 0 {
			inner, _ = around[0].(object)
		}
	case object:
		inner = around
		if a.nesting == tfprotov6.SchemaObjectNestingModeMap {
			inner = nil
			for _, key := range sorted(around) {
				inner, _ = around[key].(object)
			}
		}
	}
	if inner == nil {
		inner = object{}
		switch a.nesting {
		case tfprotov6.SchemaObjectNestingModeSingle:
			into[a.name] = inner
		case tfprotov6.SchemaObjectNestingModeMap:
			into[a.name] = object{"k": inner}
		default:
			into[a.name] = list{inner}
		}
	}
	s.set(a.nested, inner, here, path[1:], v)
}

func sorted(m object) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func clone(v any) any {
	switch v := v.(type) {
	case object:
		all := object{}
		for k, e := range v {
			all[k] = clone(e)
		}
		return all
	case list:
		all := list{}
		for _, e := range v {
			all = append(all, clone(e))
		}
		return all
	}
	return v
}

// several draws configurations of a subject with two to four attributes that are not as in its base; nil where it has but one.
func (s subject) several(of []*attribute) *rapid.Generator[trial] {
	const least, most = 2, 4
	byPath := map[string][]mutation{}
	for _, m := range s.mutations(of) {
		byPath[m.path] = append(byPath[m.path], m)
	}
	paths := slices.Sorted(maps.Keys(byPath))
	if len(paths) < least {
		return nil
	}
	return rapid.Custom(func(t *rapid.T) trial {
		drawn := rapid.Permutation(paths).Draw(t, "paths")[:rapid.IntRange(least, min(most, len(paths))).Draw(t, "attributes")]
		slices.Sort(drawn) // what is around comes first
		var all []mutation
		for _, path := range drawn {
			all = append(all, rapid.SampledFrom(byPath[path]).Draw(t, "mutation"))
		}
		return trial{s, all}
	})
}
