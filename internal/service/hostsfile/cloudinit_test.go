package hostsfile

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// rooted runs the scripts of a host, which are manage.sh, on the files below a root.
type rooted struct {
	host.Host
	root string
}

func (rooted) String() string { return "svc" }

func (r rooted) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	argv := append([]string{}, cmd.Argv[:len(cmd.Argv)-1]...)
	return exec.CommandContext(ctx, argv[0], append(argv[1:], r.root)...).Output()
}

func TestAPlanWarnsOfACloudInitThatWritesTheFile(t *testing.T) {
	const program, cfg, dir, user = "usr/bin/cloud-init", "etc/cloud/cloud.cfg", "etc/cloud/cloud.cfg.d/", "var/lib/cloud/instance/cloud-config.txt"
	for name, c := range map[string]struct {
		files map[string]string
		in    string
	}{
		"by user data":            {map[string]string{program: "", cfg: "users: []\n", user: "#cloud-config\nmanage_etc_hosts: true\n"}, "/" + user},
		"by its configuration":    {map[string]string{program: "", dir + "50_x.cfg": "manage_etc_hosts: \"template\" # ours\n"}, "/" + dir + "50_x.cfg"},
		"what is later counts":    {map[string]string{program: "", cfg: "manage_etc_hosts: true\n", dir + "99-hosts.cfg": "manage_etc_hosts: false\n"}, ""},
		"the user data's counts":  {map[string]string{program: "", dir + "99-hosts.cfg": "manage_etc_hosts: false\n", user: "manage_etc_hosts: True\n"}, "/" + user},
		"the line of a name only": {map[string]string{program: "", user: "manage_etc_hosts: localhost\n"}, ""},
		"a comment":               {map[string]string{program: "", cfg: "#manage_etc_hosts: true\n"}, ""},
		"disabled":                {map[string]string{program: "", cfg: "manage_etc_hosts: true\n", "etc/cloud/cloud-init.disabled": ""}, ""},
		"removed":                 {map[string]string{cfg: "manage_etc_hosts: true\n"}, ""},
		"none":                    {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range c.files {
				at := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			problems := (&Store{Host: rooted{root: root}}).Warn(t.Context())
			if (c.in != "") != (len(problems) == 1) {
				t.Fatalf("got %v", problems)
			}
			if c.in != "" && !strings.Contains(problems[0].Detail, "manage_etc_hosts in "+c.in+" of svc") {
				t.Errorf("got %v", problems[0])
			}
		})
	}
}
