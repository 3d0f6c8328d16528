package namedconf

import (
	"slices"
	"strings"
	"testing"
)

const sample = `// comment
include "/etc/bind/named.conf.options"; # another
/* a
 block */ options {
	directory "/var/cache/bind";
	listen-on port 53 { any; !10.0.0.1; ! { 10/8; }; };
	forwarders { 10.0.0.1 port 5353; }; // trailing
};
controls { inet 127.0.0.1 allow { localhost; } keys { "rndc-key"; }; };
zone "a\"b" IN { type hint; file "/x#y"; };
# the end`

func TestParseKeepsEveryByte(t *testing.T) {
	f, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.String(); got != sample {
		t.Errorf("got\n%s", got)
	}
	options := f.Find("options").Block()
	if got := options.Find("listen-on").Block().Elements(); !slices.Equal(got, []string{"any", "!10.0.0.1", "!{ 10/8; }"}) {
		t.Errorf("elements %q", got)
	}
	if got := f.Find("zone").Arg(0); got != `a"b` {
		t.Errorf("quoted word %q", got)
	}
}

func TestParseNamesTheLineOfAnError(t *testing.T) {
	for text, want := range map[string]string{
		"options {\n\tdirectory \"/x\"\n};": "line 2",
		"a;\nb { c;":                        "line 2",
		"a;\n}":                             "line 2",
		"/* x":                              "no end",
		"a \"x\n;":                          "no end",
		"a;;":                               "ends nothing",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v, want %q", text, err, want)
			}
		})
	}
}

// The keys of trust anchors are strings of several lines.
func TestAQuotedStringMayHaveSeveralLines(t *testing.T) {
	t.Parallel()
	const anchors = "trust-anchors {\n\t. initial-key 257 3 8 \"AwEA\n\t\taag\\\"A\"; // a key\n};\noptions { };\n"
	f, err := Parse(anchors)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.String(); got != anchors {
		t.Errorf("it became\n%s", got)
	}
	if options := f.Find("options"); options == nil || options.Line != 5 {
		t.Errorf("the statement behind it is %+v", options)
	}
}

func FuzzParseKeepsEveryByte(f *testing.F) {
	f.Add(sample)
	f.Add("a { b; } c \"d\" ;")
	f.Add("a \"b\nc\";")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse(text)
		if err != nil {
			return
		}
		if got := file.String(); got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
