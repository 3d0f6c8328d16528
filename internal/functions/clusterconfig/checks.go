package clusterconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// clusterName is what the installer takes for metadata.name: an RFC 1123 subdomain, as every name in the cluster's domain ends with it.
var (
	clusterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)
	deviceName  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,15}$`)
	imageName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9./:@_-]*$`)
	hostLabel   = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
)

func isName(v any) error {
	if s, _ := v.(string); !clusterName.MatchString(s) || len(s) > 253 {
		return fmt.Errorf("write lower-case letters, digits, hyphens and dots, not %q", s)
	}
	return nil
}

func isHostname(v any) error {
	if s, _ := v.(string); !hostLabel.MatchString(s) {
		return fmt.Errorf("write a host name of lower-case letters, digits, hyphens and dots, not %q", s)
	}
	return nil
}

func isAddress(v any) error {
	s, _ := v.(string)
	if _, err := service.ParseAddress(s); err != nil {
		return fmt.Errorf("write an address, not %q", s)
	}
	return nil
}

func isSubnet(v any) error {
	s, _ := v.(string)
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return fmt.Errorf("write a subnet such as \"10.0.0.0/24\", not %q", s)
	}
	if p != p.Masked() {
		return fmt.Errorf("%s is an address in a subnet: write %s", s, p.Masked())
	}
	return nil
}

// isSubnets is what kubeadm takes for subnets: one, or one of each family between a comma.
func isSubnets(v any) error {
	s, _ := v.(string)
	for part := range strings.SplitSeq(s, ",") {
		if err := isSubnet(part); err != nil {
			return err
		}
	}
	return nil
}

func isMAC(v any) error {
	s, _ := v.(string)
	if mac, err := net.ParseMAC(s); err != nil || len(mac) != 6 {
		return fmt.Errorf("write a MAC address such as \"52:54:00:aa:6c:b1\", not %q", s)
	}
	return nil
}

// isPullSecret never shows what it was given.
func isPullSecret(v any) error {
	s, _ := v.(string)
	var secret struct {
		Auths map[string]struct {
			Auth             string `json:"auth"`
			CredentialsStore string `json:"credsStore"`
		} `json:"auths"`
	}
	if json.Unmarshal([]byte(s), &secret) != nil {
		return errors.New("it is no JSON: write the pull secret as it was downloaded")
	}
	if len(secret.Auths) == 0 {
		return errors.New("it has no \"auths\": write the pull secret as it was downloaded")
	}
	for registry, a := range secret.Auths {
		if a.Auth == "" && a.CredentialsStore == "" {
			return fmt.Errorf("its entry for %s has no \"auth\"", registry)
		}
	}
	return nil
}

var publicKey = regexp.MustCompile(`^(ssh-(rsa|ed25519|dss)|ecdsa-sha2-[a-z0-9]+|sk-[a-z0-9@.-]+) [A-Za-z0-9+/=]+( .*)?$`)

func isPublicKeys(v any) error {
	s, _ := v.(string)
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		if !publicKey.MatchString(strings.TrimSpace(line)) {
			return errors.New("write public keys, one a line, such as \"ssh-ed25519 AAAA… admin\"")
		}
	}
	return nil
}

func atLeast(least int64) func(any) error {
	return func(v any) error {
		if n, _ := v.(int64); n < least {
			return fmt.Errorf("write %d or more, not %d", least, n)
		}
		return nil
	}
}

// isEndpoint is HOST or HOST:PORT.
func isEndpoint(v any) error {
	s, _ := v.(string)
	host := s
	if h, port, err := net.SplitHostPort(s); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("write HOST or HOST:PORT with a port of 1 to 65535, not %q", s)
		}
		host = h
	}
	if _, err := service.ParseAddress(strings.Trim(host, "[]")); err == nil || hostLabel.MatchString(host) {
		return nil
	}
	return fmt.Errorf("write HOST or HOST:PORT, not %q", s)
}

func isPort(v any) error {
	if n, _ := v.(int64); n < 1 || n > 65535 {
		return fmt.Errorf("write a port of 1 to 65535, not %d", n)
	}
	return nil
}

// isObject says so of a document whose fields its reader alone checks; its keys are in order by then.
func isObject(v any) error {
	if _, ok := v.(yaml.MapSlice); !ok {
		return fmt.Errorf("write an object, not %s", showValue(v))
	}
	return nil
}

// isDevice is what the kernel takes for a network device's name, without what configurations would take for something else.
func isDevice(v any) error { return matchPattern(v, deviceName, `a network device such as "enp1s0"`) }

func isImage(v any) error {
	return matchPattern(v, imageName, `an image such as "registry.example/name/image:tag"`)
}

func matchPattern(v any, pattern *regexp.Regexp, wanted string) error {
	if s, _ := v.(string); !pattern.MatchString(s) {
		return fmt.Errorf("write %s, not %q", wanted, s)
	}
	return nil
}

// withField returns an object with a field, where it has none.
func withField(m map[string]any, name string, v any) map[string]any {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	if out[name] == nil {
		out[name] = v
	}
	return out
}

// valueAt is the value below a path of names; nil where there is none.
func valueAt(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func asElements(v any) []any {
	all, _ := v.([]any)
	return all
}

// finishDocument checks a document and renders it; across looks at what concerns several fields, once each is right by itself.
func finishDocument(f field, document map[string]any, across func(map[string]any) []service.Problem) (string, []service.Problem) {
	var problems []service.Problem
	ordered := f.orderValue(document, nil, &problems)
	if len(problems) == 0 && across != nil {
		problems = across(document)
	}
	if len(problems) > 0 {
		return "", problems
	}
	out, err := renderYAML(ordered)
	if err != nil {
		return "", []service.Problem{service.Problemf(nil, "Cannot render", "%s", err)}
	}
	return out, nil
}
