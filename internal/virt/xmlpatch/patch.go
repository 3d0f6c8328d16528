// Package xmlpatch puts what a person says of an object's XML by places into it, reads it, and takes it back: an escape for what no attribute
// of a resource says. It asks nobody.
package xmlpatch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beevik/etree"
)

// Patch is what shall be at places, by their paths (a part of XPath, from the root on). The value of an element is its text, which may be
// empty, and that of an attribute its own. What leads to a place and is not there is made:
//
//	/domain/title
//	/domain/features/hyperv/relaxed/@state
//	/domain/devices/sound[@model='ich9']
//	/domain/devices/interface[2]/driver/@queues
//	/domain/qemu:commandline/qemu:arg[1]/@value
type Patch = map[string]string

// Place is what is to be known of a patched place to take the patch back.
type Place struct {
	Path string `xml:"path,attr"`
	// Was is the value before the patch; nil where there was none.
	Was *string `xml:"was,attr"`
	// Made is the number of the first step of the path, from the root, which is 0, whose element the patch made; 0 for none.
	Made int `xml:"made,attr,omitempty"`
}

// PlaceError is an error at one place.
type PlaceError struct {
	Path string
	Err  error
}

func (e *PlaceError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }
func (e *PlaceError) Unwrap() error { return e.Err }

// Apply returns XML in which the places of a patch have its values, and what is to be known of them. was is that of the patch that is in it
// so far: what is not in the new one is put back as it was.
func Apply(text string, was []Place, patch Patch) (patched string, places []Place, err error) {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		return "", nil, fmt.Errorf("parse XML of libvirt: %w", err)
	}
	root := doc.Root()
	for _, path := range listPaths(patch) {
		if at := slices.IndexFunc(was, func(w Place) bool { return w.Path == path }); at >= 0 {
			places = append(places, was[at])
		}
	}
	going := slices.DeleteFunc(slices.Clone(was), func(w Place) bool { _, stays := patch[w.Path]; return stays })
	for n, w := range slices.Backward(going) {
		takeBack(root, w, places, going[:n])
	}
	for n, path := range listPaths(patch) {
		p, err := parsePlace(path)
		if err != nil {
			return "", nil, &PlaceError{path, err}
		}
		now, there := p.readValue(root)
		found, err := p.writeValue(root, patch[path])
		if err != nil {
			return "", nil, &PlaceError{path, err}
		}
		if n < len(places) && places[n].Path == path {
			continue
		}
		one := Place{Path: path}
		if there {
			one.Was = &now
		}
		if found < len(p.steps) {
			one.Made = found
		}
		places = slices.Insert(places, n, one)
	}
	if err := checkWritten(root, patch); err != nil {
		return "", nil, err
	}
	patched, err = doc.WriteToString()
	return patched, places, err
}

// checkWritten refuses a patch of which two paths lead to one place: neither would know what was there before it.
func checkWritten(root *etree.Element, patch Patch) error {
	type target struct {
		element   *etree.Element
		attribute string
	}
	paths := map[target]string{}
	for _, path := range listPaths(patch) {
		p, _ := parsePlace(path)
		if now, _ := p.readValue(root); now != patch[path] {
			return &PlaceError{path, fmt.Errorf("it is %q after what another path of the patch says of the same place", now)}
		}
		found := p.findPath(root)
		at := target{found[len(found)-1], p.attribute}
		if other, twice := paths[at]; twice {
			return &PlaceError{path, fmt.Errorf("%s is the same place: write one of the two", other)}
		}
		paths[at] = path
	}
	return nil
}

// takeBack puts a place back as it was. Elements that its patch made go when nothing is in them any more, and no other place, to which they
// then belong: one that stays, or one that goes next.
func takeBack(root *etree.Element, w Place, staying, going []Place) {
	p, err := parsePlace(w.Path)
	if err != nil { // somebody wrote it into the mark
		return
	}
	if w.Was != nil {
		if _, there := p.readValue(root); there {
			_, _ = p.writeValue(root, *w.Was)
		}
		return
	}
	switch {
	case p.attribute != "":
		p.removeValue(root)
	case len(p.findPath(root)) == len(p.steps):
		_, _ = p.writeValue(root, "")
	}
	if w.Made == 0 {
		return
	}
	for found := p.findPath(root); len(found) > w.Made; found = found[:len(found)-1] {
		e, whole := found[len(found)-1], p.attribute == "" && len(found) == len(p.steps)
		holds := len(e.ChildElements()) > 0 || strings.TrimSpace(e.Text()) != ""
		stays, goes := handOver(root, e, w.Made, staying), handOver(root, e, w.Made, going)
		if stays || goes || holds && !whole {
			return
		}
		e.Parent().RemoveChild(e)
	}
}

// handOver says whether another place is in an element, and notes there that its elements from a step on were made by a patch.
func handOver(root, e *etree.Element, made int, others []Place) bool {
	within := false
	for i := range others {
		p, err := parsePlace(others[i].Path)
		if err == nil && slices.Contains(p.findPath(root), e) {
			within = true
			if others[i].Made == 0 || made < others[i].Made {
				others[i].Made = made
			}
		}
	}
	return within
}

// Read returns what is at places: those that are not there are not in it.
func Read(text string, paths []string) (Patch, error) {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		return nil, fmt.Errorf("parse XML of libvirt: %w", err)
	}
	found := Patch{}
	for _, path := range paths {
		p, err := parsePlace(path)
		if err != nil {
			continue // somebody wrote it into the mark
		}
		if value, there := p.readValue(doc.Root()); there {
			found[path] = value
		}
	}
	return found, nil
}

// Remove returns XML without what is at a place.
func Remove(text, path string) (string, error) {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		return "", fmt.Errorf("parse XML of libvirt: %w", err)
	}
	p, err := parsePlace(path)
	if err != nil {
		return "", err
	}
	p.removeValue(doc.Root())
	return doc.WriteToString()
}
