package bind

import (
	"slices"
	"testing"
)

// A view of a person's says nothing of recursion where the server's options do, or leave it to BIND: it is read as what its clients get.
func TestRecursionThatAPersonsViewInheritsIsRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options, view string
		recursion     bool
		allowed       []string
	}{
		"nothing is said":                    {"", "", true, []string{"localhost", "localnets"}},
		"the options allow all":              {"recursion yes; allow-recursion { any; };", "", true, nil},
		"the options allow some":             {"allow-recursion { 10.0.0.0/8; };", "", true, []string{"10.0.0.0/8"}},
		"the options allow some the cache":   {"allow-query-cache { 10.0.0.0/8; }; allow-query { any; };", "", true, []string{"10.0.0.0/8"}},
		"the options allow some to ask":      {"allow-query { 10.0.0.0/8; };", "", true, []string{"10.0.0.0/8"}},
		"the view allows some to ask":        {"allow-query { any; };", "allow-query { 10.1.0.0/16; };", true, []string{"10.1.0.0/16"}},
		"the view allows some":               {"allow-recursion { any; };", "allow-recursion { 10.1.0.0/16; };", true, []string{"10.1.0.0/16"}},
		"the view says yes":                  {"recursion no; allow-recursion { 10.0.0.0/8; };", "recursion yes;", true, []string{"10.0.0.0/8"}},
		"the view says no":                   {"recursion yes;", "recursion no;", false, nil},
		"the options say no":                 {"recursion no; allow-recursion { any; };", "", false, nil},
		"the view says yes, and allows them": {"", "recursion yes; allow-recursion { any; };", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := debian(t)
			tree.Put("/etc/bind/named.conf", []byte("options { directory \"/var/cache/bind\"; "+c.options+" };\nview \"theirs\" { match-clients { any; }; "+c.view+" };\n"), 0, "", "")
			v, err := FindView(tree, "theirs")
			slices.Sort(v.AllowRecursion)
			if err != nil || v.Recursion != c.recursion || !slices.Equal(v.AllowRecursion, c.allowed) || (v.AllowRecursion == nil) != (c.allowed == nil) {
				t.Errorf("it is read as %v, %q, %v", v.Recursion, v.AllowRecursion, err)
			}
		})
	}
}
