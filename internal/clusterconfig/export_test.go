package clusterconfig

import "testing"

// PodTopology is the topology of the golden files, for acceptance tests.
func PodTopology(t *testing.T) map[string]any { return document(t, podTopology) }

// FilesOf are the files that a machine's Ignition writes, by their paths.
func FilesOf(t *testing.T, ignition string) map[string]string { return filesOf(t, ignition) }
