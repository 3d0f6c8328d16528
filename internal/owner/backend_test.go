package owner

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// initialize returns a data directory as `terraform init` leaves it for a backend.
func initialize(t *testing.T, kind, settings string) string {
	t.Helper()
	data := t.TempDir()
	text := `{"version":3,"backend":{"type":"` + kind + `","config":` + settings + `}}`
	if err := os.WriteFile(filepath.Join(data, "terraform.tfstate"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestNothingOfABackendIsToldButItsPlace(t *testing.T) {
	t.Setenv("TF_WORKSPACE", "")
	for name, c := range map[string]struct{ kind, settings, want string }{
		"pg by URL": {
			"pg", `{"conn_str":"postgres://tf:S3cr3t@db.example:5433/tfstate?sslmode=require&password=S3cr3t","schema_name":"okd"}`,
			`pg (conn_str "host=db.example port=5433 dbname=tfstate", schema_name "okd")`,
		},
		"pg by keywords": {
			"pg", `{"conn_str":"user=tf password='S3cr3t host=x' host = db.example dbname=tfstate"}`, `pg (conn_str "host=db.example dbname=tfstate")`,
		},
		"pg that cannot be read":   {"pg", `{"conn_str":"postgres://tf:S3cr3t%@db.example/x"}`, `pg`},
		"http":                     {"http", `{"address":"https://tf:S3cr3t@state.example/okd?token=S3cr3t#S3cr3t","username":"tf","password":"S3cr3t"}`, `http (address "https://state.example/okd")`},
		"http that cannot be read": {"http", `{"address":"https://tf:S3cr3t %zz@state.example/okd"}`, `http`},
		"http without a scheme":    {"http", `{"address":"tf:S3cr3t@state.example/okd"}`, `http`},
		"s3 with nested settings": {
			"s3", `{"bucket":"b","key":"k","access_key":"S3cr3t","endpoints":{"s3":"https://a:S3cr3t@minio.example","sts":"S3cr3t"},` +
				`"assume_role_with_web_identity":{"role_arn":"r","web_identity_token":"S3cr3t"},"future":{"token":"S3cr3t"}}`,
			`s3 (bucket "b", endpoints.s3 "https://minio.example", key "k")`,
		},
		"remote": {
			"remote", `{"organization":"acme","token":"S3cr3t","workspaces":[{"name":"okd","S3cr3t":"S3cr3t"}]}`,
			`remote (organization "acme", workspaces.name "okd")`,
		},
		"cloud with tags":                 {"cloud", `{"organization":"acme","workspaces":{"name":null,"tags":["a","b"]}}`, `cloud (organization "acme", workspaces.tags "[a b]")`},
		"a setting that should be a text": {"gcs", `{"bucket":{"S3cr3t":"S3cr3t"},"prefix":"p"}`, `gcs (prefix "p")`},
		"an unknown backend":              {"vault", `{"path":"S3cr3t","bucket":"S3cr3t"}`, `vault`},
	} {
		t.Run(name, func(t *testing.T) {
			data := initialize(t, c.kind, c.settings)
			if got := readBackend(data).String(); got != c.want {
				t.Errorf("it is %s, not %s", got, c.want)
			}
			if said := describePlace("/srv/okd", data, "ci-1"); strings.Contains(said, "S3cr3t") || !strings.HasPrefix(said, `workspace "default" of backend `+c.kind) {
				t.Errorf("people read %s", said)
			}
			if p := locateState("/srv/okd", data); strings.Contains(p.backend, "S3cr3t") {
				t.Errorf("a secret is in what the fingerprint is made of: %s", p.backend)
			}
		})
	}
}

func TestStatesAreToldApartByTheirBackends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, one, other string
		same             bool
	}{
		"other credentials":               {"s3", `{"bucket":"b","key":"k"}`, `{"bucket":"b","key":"k","access_key":"x","profile":"ci"}`, true},
		"other users of PostgreSQL":       {"pg", `{"conn_str":"postgres://a:x@h/d"}`, `{"conn_str":"postgres://b:y@h/d"}`, true},
		"other keys":                      {"s3", `{"bucket":"b","key":"k"}`, `{"bucket":"b","key":"l"}`, false},
		"other databases":                 {"pg", `{"conn_str":"postgres://h/d"}`, `{"conn_str":"postgres://h/e"}`, false},
		"other secrets of Kubernetes":     {"kubernetes", `{"secret_suffix":"okd"}`, `{"secret_suffix":"k8s"}`, false},
		"other credentials of Kubernetes": {"kubernetes", `{"secret_suffix":"okd"}`, `{"secret_suffix":"okd","token":"x"}`, true},
		"other files":                     {"local", `{"path":"a"}`, `{"path":"b"}`, false},
		"other workspaces of a remote":    {"remote", `{"organization":"o","workspaces":[{"name":"a"}]}`, `{"organization":"o","workspaces":[{"name":"b"}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			one, other := locateState("/srv/a", initialize(t, c.kind, c.one)), locateState("/srv/a", initialize(t, c.kind, c.other))
			if same := fingerprintPlace(one) == fingerprintPlace(other); same != c.same {
				t.Errorf("they are one state: %v\n%v\n%v", same, one, other)
			}
		})
	}
}

// What the settings do not tell, the directory and the computer do: no state is taken for another one.
func TestAStateThatItsBackendDoesNotTellIsOfItsDirectory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, settings string
		elsewhereToo   bool
	}{
		"one in an object":            {"s3", `{"bucket":"b","key":"k"}`, true},
		"one named by environment":    {"pg", `{"schema_name":"okd"}`, false},
		"one of an unknown backend":   {"vault", `{"path":"okd"}`, false},
		"one in a file":               {"local", `{"path":"okd.tfstate"}`, false},
		"one without its bucket":      {"s3", `{"key":"k"}`, false},
		"one by HTTP, not understood": {"http", `{"address":"%zz://"}`, false},
		"one by HTTP":                 {"http", `{"address":"https://states.example/okd"}`, true},
		"by HTTP of each computer":    {"http", `{"address":"http://[::1]:8080/okd"}`, false},
		"in a cluster of a file":      {"kubernetes", `{"secret_suffix":"okd","config_path":"~/.kube/config"}`, false},
		"in a cluster of a name":      {"kubernetes", `{"secret_suffix":"okd","host":"https://api.example:6443"}`, true},
		"in Consul":                   {"consul", `{"address":"consul.example:8500","path":"okd"}`, true},
		"in Consul of each computer":  {"consul", `{"address":"127.0.0.1:8500","path":"okd"}`, false},
		"in PostgreSQL":               {"pg", `{"conn_str":"host=db.example dbname=d"}`, true},
		"in PostgreSQL of each":       {"pg", `{"conn_str":"postgres://localhost/d"}`, false},
		"in PostgreSQL by a socket":   {"pg", `{"conn_str":"dbname=d"}`, false},
		"in an S3 of each computer":   {"s3", `{"bucket":"b","key":"k","endpoints":{"s3":"http://localhost:9000"}}`, false},
		"in an S3 of a name":          {"s3", `{"bucket":"b","key":"k","endpoints":{"s3":"https://minio.example"}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			data := initialize(t, c.kind, c.settings)
			if same := fingerprintPlace(locateState("/srv/a", data)) == fingerprintPlace(locateState("/srv/b", data)); same != c.elsewhereToo {
				t.Errorf("it is the same from another directory: %v", same)
			}
		})
	}
}

// A state in a file without a backend has had this fingerprint since marks have workspaces.
func TestTheFingerprintOfAFileStays(t *testing.T) {
	t.Setenv("TF_WORKSPACE", "")
	want := fingerprintPlace(place{computer: computerName(), directory: "/srv/okd", workspace: "default"})
	if got := fingerprintPlace(locateState("/srv/okd", t.TempDir())); got != want {
		t.Errorf("it is %s, not %s", got, want)
	}
}

func TestNoSettingIsListedThatHoldsASecret(t *testing.T) {
	t.Parallel()
	for _, kind := range slices.Sorted(maps.Keys(places)) {
		for _, setting := range places[kind] {
			for _, word := range []string{"password", "token", "secret_key", "access_key", "credential", "private", "user"} {
				t.Run(word, func(t *testing.T) {
					if strings.Contains(setting, word) {
						t.Errorf("%s tells its %s", kind, setting)
					}
				})
			}
		}
	}
	if _, err := json.Marshal(backend{Type: "remote", Config: map[string]any{"workspaces.tags": []string{"a"}}}); err != nil {
		t.Error(err)
	}
}
