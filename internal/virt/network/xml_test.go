package network

import (
	"strings"
	"testing"

	"github.com/beevik/etree"
)

const document = `<network xmlns:dnsmasq="http://libvirt.org/schemas/network/dnsmasq/1.0" trust="yes">
  <name>a &amp; b</name>
  <!-- by hand -->
  <metadata>
    <app:note xmlns:app="urn:app" lines="a&#xA;b">mixed <app:b x="1"/> text</app:note>
  </metadata>
  <bridge name="br0" delay="0"/>
  <dnsmasq:options>
    <dnsmasq:option value="log-queries"/>
  </dnsmasq:options>
</network>`

func TestWhatIsNotEditedComesBackAsItWas(t *testing.T) {
	e, err := parseXML(document)
	if err != nil {
		t.Fatal(err)
	}
	if got := renderXML(e); got != document {
		t.Errorf("got\n%s", got)
	}
}

func TestTreeEdits(t *testing.T) {
	e, err := parseXML(`<n><a x="1" y="2"/><b>t</b><a/></n>`)
	if err != nil {
		t.Fatal(err)
	}
	setAttribute(e.SelectElement("a"), "x", "")
	setAttribute(e.SelectElement("a"), "z", `"<&`)
	e.SelectElement("b").SetText("u")
	ensureChild(e, "c").AddChild(newElement("d", "k", "v", "left-out", ""))
	if n := len(e.SelectElements("a")); n != 2 {
		t.Errorf("%d children", n)
	}
	removeChildren(e, isEmptyElement)
	const want = `<n><a y="2" z="&quot;&lt;&amp;"/><b>u</b><c><d k="v"/></c></n>`
	if got := renderXML(e); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestBrokenXMLIsRefused(t *testing.T) {
	for _, text := range []string{"", "<a>", "<a></b>", "</a>", "<a", "text"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if e, err := parseXML(text); err == nil {
				t.Errorf("%q parsed as %s", text, renderXML(e))
			}
		})
	}
}

// squeezed is a document without the white space between its elements, in which a golden file may differ.
func squeezed(t *testing.T, text string) string {
	t.Helper()
	d := etree.NewDocument()
	if err := d.ReadFromString(text); err != nil {
		t.Fatal(err)
	}
	var squeeze func(e *etree.Element)
	squeeze = func(e *etree.Element) {
		if strings.TrimSpace(textAround(e)) == "" {
			for i := len(e.Child) - 1; i >= 0; i-- {
				if _, space := e.Child[i].(*etree.CharData); space {
					e.RemoveChildAt(i)
				}
			}
		}
		for _, child := range e.ChildElements() {
			squeeze(child)
		}
	}
	squeeze(d.Root())
	return renderXML(d.Root())
}

// textAround is all the text that stands directly in an element.
func textAround(e *etree.Element) string {
	var all strings.Builder
	for _, token := range e.Child {
		if text, ok := token.(*etree.CharData); ok {
			all.WriteString(text.Data)
		}
	}
	return all.String()
}
