package planregistry

import "sync"

// Namesakes gathers the names under which a plan makes objects, and those of the objects that it destroys: Terraform does both in any
// order. The zero value is ready to use.
type Namesakes struct {
	mu         sync.Mutex
	made, gone map[Claim]bool
}

// Make notes that an object is made under a name, and says whether another one of that name goes.
func (n *Namesakes) Make(name Claim) (goes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.made == nil {
		n.made = map[Claim]bool{}
	}
	n.made[name] = true
	return n.gone[name]
}

// Remove notes that the object of a name goes, and says whether another one is made under that name.
func (n *Namesakes) Remove(name Claim) (made bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone == nil {
		n.gone = map[Claim]bool{}
	}
	n.gone[name] = true
	return n.made[name]
}
