package xmltree

import "testing"

const document = `<network xmlns:dnsmasq="http://libvirt.org/schemas/network/dnsmasq/1.0" trust="yes">
  <name>a &amp; b</name>
  <!-- by hand -->
  <metadata>
    <app:note xmlns:app="urn:app">mixed <app:b x="1"/> text</app:note>
  </metadata>
  <bridge name="br0" delay="0"/>
  <dnsmasq:options>
    <dnsmasq:option value="log-queries"/>
  </dnsmasq:options>
</network>`

func TestWhatIsNotEditedComesBackAsItWas(t *testing.T) {
	e, err := Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.String(); got != document {
		t.Errorf("got\n%s", got)
	}
}

func TestEdits(t *testing.T) {
	e, err := Parse(`<n><a x="1" y="2"/><b>t</b><a/></n>`)
	if err != nil {
		t.Fatal(err)
	}
	e.Child("a").Set("x", "")
	e.Child("a").Set("z", `"<&`)
	e.Child("b").SetText("u")
	e.Ensure("c").Append(New("d", "k", "v", "left-out", ""))
	if n := len(e.Children("a")); n != 2 {
		t.Errorf("%d children", n)
	}
	e.Remove(func(c *Element) bool { return c.Empty() })
	const want = "<n>\n  <a y=\"2\" z=\"&quot;&lt;&amp;\"/>\n  <b>u</b>\n  <c>\n    <d k=\"v\"/>\n  </c>\n</n>"
	if got := e.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestBrokenXMLIsRefused(t *testing.T) {
	for _, text := range []string{"", "<a>", "<a></b>", "</a>", "<a", "text"} {
		if e, err := Parse(text); err == nil {
			t.Errorf("%q parsed as %s", text, e)
		}
	}
}
