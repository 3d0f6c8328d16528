package owner

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// backend is where `terraform init` found the state to be kept.
type backend struct {
	// Type is "local" for a file on this computer.
	Type string `json:"type"`
	// Config has the settings that say where, and no others: what is not known to be free of credentials is left out.
	Config map[string]any `json:"config"`
}

// places are the settings that say where a backend keeps a state, by its type. Those of an object inside are written OBJECT.SETTING.
// A setting with "!" tells states apart: where it is not written, as it may stand in the environment, two states look alike. One with "@" names
// a server: one of the computer's own is another one on each computer.
var places = map[string][]string{
	"local":      {"path", "workspace_dir"},
	"remote":     {"hostname", "organization!", "workspaces.name", "workspaces.prefix", "workspaces.tags", "workspaces.project"},
	"cloud":      {"hostname", "organization!", "workspaces.name", "workspaces.tags", "workspaces.project"},
	"s3":         {"bucket!", "key!", "region", "workspace_key_prefix", "endpoint@", "endpoints.s3@"},
	"gcs":        {"bucket!", "prefix"},
	"azurerm":    {"environment", "resource_group_name", "storage_account_name!", "container_name!", "key!"},
	"http":       {"address!@"},
	"pg":         {"conn_str!@", "schema_name", "table_name"},
	"consul":     {"address!@", "scheme", "datacenter", "path!"},
	"kubernetes": {"secret_suffix!", "namespace", "host!@", "config_path", "config_context", "config_context_cluster"},
	"oss":        {"bucket!", "prefix", "key", "region", "endpoint@"},
	"cos":        {"bucket!", "prefix", "key", "region", "endpoint@"},
	"oci":        {"namespace!", "bucket!", "key", "region", "workspace_key_prefix"},
}

// readBackend returns the backend of a directory, "local" where none is configured.
func readBackend(data string) backend {
	var initialized struct {
		Backend backend `json:"backend"`
	}
	text, err := os.ReadFile(filepath.Join(data, "terraform.tfstate"))
	if err != nil || json.Unmarshal(text, &initialized) != nil || initialized.Backend.Type == "" {
		return backend{Type: "local"}
	}
	b := backend{Type: initialized.Backend.Type, Config: map[string]any{}}
	for _, setting := range places[b.Type] {
		name := strings.TrimRight(setting, "!@")
		if value := readSetting(initialized.Backend.Config, name); value != nil {
			b.Config[name] = value
		}
	}
	return b
}

// isFound says whether the settings tell the state from all others, wherever Terraform runs.
func (b backend) isFound() bool {
	if _, known := places[b.Type]; !known || b.Type == "local" {
		return false
	}
	return !slices.ContainsFunc(places[b.Type], func(setting string) bool {
		name := strings.TrimRight(setting, "!@")
		flags := strings.TrimPrefix(setting, name)
		text, is := b.Config[name].(string)
		return strings.Contains(flags, "!") && b.Config[name] == nil || is && strings.Contains(flags, "@") && isOwnServer(text)
	})
}

// serverHost is what a server's name begins with in the forms of the settings: a URL's host, that of describeDatabase, or HOST:PORT.
var serverHost = regexp.MustCompile(`^(?:[a-z0-9+.-]+://|(?:.* )?host(?:addr)?=)?(\[[^\]]*\]|[^:/ ]*)`)

// isOwnServer says whether a setting names a server of the computer itself, or none.
func isOwnServer(text string) bool {
	name := serverHost.FindStringSubmatch(text)[1]
	if strings.HasPrefix(text, "port=") || strings.HasPrefix(text, "dbname=") {
		name = "" // a socket
	}
	a, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && (a.IsLoopback() || a.IsUnspecified())
}

// String is the backend for people: `s3 (bucket "states", key "okd")`.
func (b backend) String() string {
	settings := make([]string, 0, len(b.Config))
	for _, name := range slices.Sorted(maps.Keys(b.Config)) {
		settings = append(settings, fmt.Sprintf("%s %q", name, fmt.Sprint(b.Config[name])))
	}
	if len(settings) == 0 {
		return b.Type
	}
	return fmt.Sprintf("%s (%s)", b.Type, strings.Join(settings, ", "))
}

// readSetting returns a text, or a list of texts, without credentials; nil for anything else. An object inside is one, or a list of one.
func readSetting(config map[string]any, name string) any {
	object, rest, nested := strings.Cut(name, ".")
	value := config[object]
	if nested {
		if list, is := value.([]any); is && len(list) == 1 {
			value = list[0]
		}
		inside, is := value.(map[string]any)
		if !is {
			return nil
		}
		return readSetting(inside, rest)
	}
	switch value := value.(type) {
	case string:
		if name == "conn_str" {
			value = describeDatabase(value)
		} else {
			value = withoutCredentials(value)
		}
		if value != "" {
			return value
		}
	case []any:
		var texts []string
		for _, v := range value {
			if text, is := v.(string); is {
				texts = append(texts, withoutCredentials(text))
			}
		}
		if len(texts) > 0 {
			return texts
		}
	}
	return nil
}

// withoutCredentials returns a text, and of a URL neither user, password, query nor fragment. What looks like a URL and is none says
// nothing.
func withoutCredentials(text string) string {
	if !strings.Contains(text, "://") && !strings.ContainsAny(text, "@?") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// keyword is one of libpq's connection strings: NAME=VALUE, or NAME='VALUE' with \' inside.
var keyword = regexp.MustCompile(`(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S*))`)

// describeDatabase returns host, port and database of a connection string of PostgreSQL, in either of its forms:
// https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING.
func describeDatabase(text string) string {
	said := map[string]string{}
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		if err != nil {
			return ""
		}
		said["host"], said["port"], said["dbname"] = u.Hostname(), u.Port(), strings.TrimPrefix(u.Path, "/")
		for name, values := range u.Query() {
			said[name] = values[0]
		}
	} else {
		for _, found := range keyword.FindAllStringSubmatch(text, -1) {
			said[found[1]] = found[2] + found[3]
		}
	}
	var words []string
	for _, name := range []string{"host", "hostaddr", "port", "dbname"} {
		if said[name] != "" {
			words = append(words, name+"="+said[name])
		}
	}
	return strings.Join(words, " ")
}
