package leftover

import (
	"strings"
	"testing"
)

func TestWhatTheValuesDoNotSayIsFoundWithItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		xml, modelled string
		filledIn      []string
		want          string
	}{
		"the same":                {`<a x="1"><b>t</b></a>`, `<a x="1"><b>t</b></a>`, nil, ""},
		"what is only modelled":   {`<a/>`, `<a x="1"><b/></a>`, nil, ""},
		"an attribute":            {`<a x="1" y="2"/>`, `<a x="1"/>`, nil, "/a/@y: 2"},
		"another value":           {`<a x="1"/>`, `<a x="2"/>`, nil, "/a/@x: 1"},
		"a text":                  {`<a><b>t</b></a>`, `<a><b>u</b></a>`, nil, "/a/b: t"},
		"an element":              {"<a>\n  <b>\n    <c z='1'/>\n  </b>\n</a>", `<a/>`, nil, `/a/b: <b><c z="1"/></b>`},
		"the second of two":       {`<a><b n="1"/><b n="2"/></a>`, `<a><b n="1"/></a>`, nil, `/a/b[2]: <b n="2"/>`},
		"the first of two":        {`<a><b n="1" m="x" k="y"/><b n="2"/></a>`, `<a><b n="2"/></a>`, nil, `/a/b[1]: <b n="1" m="x" k="y"/>`},
		"of two in other order":   {`<a><b n="1"/><b n="2" o="x"/></a>`, `<a><b n="2"/><b n="1"/></a>`, nil, `/a/b[2]/@o: x`},
		"what is filled in":       {`<a x="1"><b><c/></b><b><c/><d/></b></a>`, `<a><b/><b/></a>`, []string{"/a/*/c", "/a/@x"}, `/a/b[2]/d: <d/>`},
		"a value that is not":     {`<a x="1" y="1"/>`, `<a/>`, []string{"/a/@x=2", "/a/@y=1"}, "/a/@x: 1"},
		"a text that is":          {`<a><b>t</b><c>t</c></a>`, `<a/>`, []string{"/a/*=t"}, ""},
		"a namespace":             {`<a xmlns:q="urn:q"><q:b v="1"/></a>`, `<a/>`, nil, `/a/q:b: <q:b v="1"/>`},
		"a password":              {`<a passwd="p"><b password="q"/></a>`, `<a/>`, nil, `/a/@passwd: (a secret); /a/b: <b password="(a secret)"/>`},
		"what is deep in another": {`<a><b><c><d e="1" f="2"/></c></b></a>`, `<a><b><c><d e="1"/></c></b></a>`, nil, "/a/b/c/d/@f: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := Find(c.xml, c.modelled, c.filledIn...)
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, u := range all {
				said = append(said, u.Place+": "+u.What)
			}
			if got := strings.Join(said, "; "); got != c.want {
				t.Errorf("it says %q, not %q", got, c.want)
			}
		})
	}
}

func TestWhatIsNoXMLIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "<a", "words"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if _, err := Find(text, "<a/>"); err == nil {
				t.Error("it is taken")
			}
		})
	}
}

func TestALongElementIsCut(t *testing.T) {
	t.Parallel()
	all, err := Find("<a><b>"+strings.Repeat("ä", shown)+"</b></a>", "<a/>")
	if err != nil || len(all) != 1 || len(all[0].What) > shown+len("…") || !strings.HasSuffix(all[0].What, "…") {
		t.Errorf("it says %v, %v", all, err)
	}
}
