package clusterconfig

import "testing"

// PodTopology is the topology of the golden files, for acceptance tests.
func PodTopology(t *testing.T) map[string]any { return document(t, podTopology) }

// FilesOf are the files that a machine's Ignition writes, by their paths.
func FilesOf(t *testing.T, ignition string) map[string]string { return filesOf(t, ignition) }

// MonitorTopology is PodTopology with monitors, for acceptance tests.
func MonitorTopology(t *testing.T) map[string]any { return document(t, monitors) }

// FillTemplate does what the monitor of a master does with its daemon's template.
func FillTemplate(t *testing.T, text, address string) string {
	return fill(t, text, seenBy(address, false))
}

// CommandOf is the command of the first container of a pod.
func CommandOf(t *testing.T, manifest string) []string {
	t.Helper()
	return readPod(t, manifest).Spec.Containers[0].Command
}
