// Package kubeconfig is how to reach a cluster's API as its administrator: what the cluster's installer leaves on a control-plane node.
package kubeconfig

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"

	"gopkg.in/yaml.v3"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// KnownPaths are where installers leave one: kubeadm, OpenShift, k3s, RKE2 and k0s.
var KnownPaths = []string{
	"/etc/kubernetes/admin.conf",
	"/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs/lb-ext.kubeconfig",
	"/etc/rancher/k3s/k3s.yaml",
	"/etc/rancher/rke2/rke2.yaml",
	"/var/lib/k0s/pki/admin.conf",
}

// maxSize bounds a kubeconfig: one with certificates has about six kilobytes.
const maxSize = 1 << 20

// Config is a kubeconfig, and what it says of its current context. The texts of certificates and keys are PEM.
type Config struct {
	// Text is all of the file.
	Text string
	// Server is the URL of the API.
	Server, CACertificate, ClientCertificate, ClientKey, Token string
}

// NotThereError says that a machine has no kubeconfig yet that can be read.
type NotThereError struct{ Err error }

func (e *NotThereError) Error() string { return e.Err.Error() }
func (e *NotThereError) Unwrap() error { return e.Err }

// Read returns the first kubeconfig that a machine has at some paths. One that is not there, or not yet a whole one, is a *NotThereError.
func Read(ctx context.Context, h host.Host, paths []string, server string) (Config, error) {
	for _, path := range paths {
		text, err := h.Read(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Config{}, fmt.Errorf("read %s: %w", path, err)
		}
		config, err := parseKubeconfig(text, server)
		if err != nil {
			return Config{}, &NotThereError{fmt.Errorf("%s on %s: %w", path, h, err)}
		}
		return config, nil
	}
	return Config{}, &NotThereError{fmt.Errorf("%s has no kubeconfig: there is none of %q", h, paths)}
}

// document is a kubeconfig as client-go reads it (k8s.io/client-go/tools/clientcmd/api/v1).
type document struct {
	CurrentContext string `yaml:"current-context"`
	Contexts       []struct {
		Name    string `yaml:"name"`
		Context struct {
			Cluster string `yaml:"cluster"`
			User    string `yaml:"user"`
		} `yaml:"context"`
	} `yaml:"contexts"`
	Clusters []struct {
		Name    string    `yaml:"name"`
		Cluster yaml.Node `yaml:"cluster"`
	} `yaml:"clusters"`
	Users []struct {
		Name string    `yaml:"name"`
		User yaml.Node `yaml:"user"`
	} `yaml:"users"`
}

// parseKubeconfig reads a kubeconfig. With a server, all clusters of it have that one for theirs.
func parseKubeconfig(text []byte, server string) (c Config, err error) {
	if len(text) > maxSize {
		return c, fmt.Errorf("it has %d bytes, and a kubeconfig at most %d", len(text), maxSize)
	}
	var whole yaml.Node
	var d document
	if err := yaml.Unmarshal(text, &whole); err != nil {
		return c, withoutContents(err)
	}
	if err := whole.Decode(&d); err != nil {
		return c, withoutContents(err)
	}
	var user, cluster *yaml.Node
	for _, context := range d.Contexts {
		if context.Name != d.CurrentContext {
			continue
		}
		for i := range d.Clusters {
			if d.Clusters[i].Name == context.Context.Cluster {
				cluster = &d.Clusters[i].Cluster
			}
		}
		for i := range d.Users {
			if d.Users[i].Name == context.Context.User {
				user = &d.Users[i].User
			}
		}
	}
	if cluster == nil || user == nil {
		return c, fmt.Errorf("it is no kubeconfig, or its current context %q has no cluster or no user in it", d.CurrentContext)
	}
	if c, err = readAccess(cluster, user); err != nil {
		return c, err
	}
	c.Text = string(text)
	if server != "" {
		c.Server = server
		c.Text, err = replaceServers(&whole, server)
	}
	return c, err
}

// withoutContents says where a file is no YAML; the decoder's own words may quote a key.
func withoutContents(err error) error {
	if _, is := errors.AsType[*yaml.TypeError](err); is {
		return errors.New("it is no kubeconfig: its fields are not those of one")
	}
	return errors.New("it is no YAML")
}

// readAccess reads what a cluster and a user of a kubeconfig say. What they name by the paths of files is not in the kubeconfig.
func readAccess(cluster, user *yaml.Node) (c Config, err error) {
	fields := map[string]string{}
	for _, node := range []*yaml.Node{cluster, user} {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if value := node.Content[i+1]; value.Kind == yaml.ScalarNode {
				fields[node.Content[i].Value] = value.Value
			} else {
				fields[node.Content[i].Value] = "…"
			}
		}
	}
	for _, elsewhere := range []string{"certificate-authority", "client-certificate", "client-key", "tokenFile", "exec", "auth-provider"} {
		if fields[elsewhere] != "" && fields[elsewhere+"-data"] == "" {
			return c, fmt.Errorf("its %s is something that the machine alone has: give the path of a kubeconfig that has everything in itself", elsewhere)
		}
	}
	c.Server, c.Token = fields["server"], fields["token"]
	for name, at := range map[string]*string{
		"certificate-authority-data": &c.CACertificate, "client-certificate-data": &c.ClientCertificate, "client-key-data": &c.ClientKey,
	} {
		decoded, err := base64.StdEncoding.DecodeString(fields[name])
		if err != nil {
			return c, fmt.Errorf("its %s is no base64", name)
		}
		*at = string(decoded)
	}
	if c.Server == "" || c.Token == "" && (c.ClientCertificate == "" || c.ClientKey == "") {
		return c, errors.New("it has no server, or neither a token nor a certificate with its key")
	}
	return c, nil
}

// replaceServers renders a kubeconfig with one server for all of its clusters.
func replaceServers(whole *yaml.Node, server string) (string, error) {
	for _, entry := range findField(whole.Content[0], "clusters").Content {
		if at := findField(findField(entry, "cluster"), "server"); at.Kind == yaml.ScalarNode {
			at.SetString(server)
		}
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(whole), encoder.Close())
	return text.String(), err
}

// findField returns the value of a field of a mapping; an empty node where there is none.
func findField(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return &yaml.Node{}
}

// MeansItself says whether the server of a kubeconfig is the machine that reads it, as that of k3s is.
func (c Config) MeansItself() bool {
	u, err := url.Parse(c.Server)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && address.IsLoopback()
}
