package service

// Unmodelled is something on a machine or a hypervisor that no attribute of a resource says: it stays as it is, and has to be known of.
type Unmodelled struct {
	// Place is where it stands: FILE:LINE, or the path of an element in an object's XML, such as "/domain/devices/tpm".
	Place string
	// What is its own text, or what keeps it from being a resource.
	What string
}
