package machine

// KeyfilesOf are the files that a machine's Ignition configuration hands to NetworkManager: path → content.
func KeyfilesOf(s *Spec) map[string]string {
	files := map[string]string{}
	for _, k := range buildKeyfiles(s.Interfaces) {
		files[k.path] = k.content
	}
	return files
}
