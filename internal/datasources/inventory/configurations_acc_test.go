package inventory_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/goldentest"
)

// ownConfigurations has for each way in which projects set a machine up the files of one, as they are on it, and beside these a golden file of
// what the inventory makes of them. configurationsVariable names another such directory, whose files are tried as they are.
const (
	ownConfigurations      = "testdata/configurations"
	configurationsVariable = "INVENTORY_CONFIGURATIONS"
)

// daemons are what reads which of the files, with what checks it.
var daemons = []struct{ unit, file, check string }{
	{"named", "/etc/bind/named.conf", "named-checkconf -z /etc/bind/named.conf"},
	{"haproxy", "/etc/haproxy/haproxy.cfg", "haproxy -c -f /etc/haproxy/haproxy.cfg"},
	{"keepalived", "/etc/keepalived/keepalived.conf", "keepalived -t -f /etc/keepalived/keepalived.conf"},
}

// readTree reads the files of a directory, by their paths on the machine.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(content)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files in %s: %v", dir, err)
	}
	return files
}

// put has svc-1 hold the files until the test ends, with the daemons that read them, and returns what these say that do not start.
func put(t *testing.T, files map[string]string) (refused string) {
	t.Helper()
	const machine = "svc-1"
	paths := slices.Sorted(maps.Keys(files))
	acctest.On(t, machine, "sh", "-c", "cd / && tar cf /root/before.tar etc/haproxy etc/bind etc/hosts $(ls -d etc/keepalived)")
	t.Cleanup(func() {
		script := "systemctl stop keepalived haproxy named; rm -f \"$@\"; cd / && rm -rf etc/haproxy etc/bind etc/keepalived && tar xf /root/before.tar; ip address flush dev lo scope global"
		if out, err := acctest.Try(context.Background(), machine, append([]string{"sh", "-c", script, "sh"}, paths...)...); err != nil {
			t.Errorf("%s is not as before: %v: %s", machine, err, out)
		}
	})
	for _, path := range paths {
		acctest.On(t, machine, "sh", "-c", `mkdir -p "${1%/*}" && printf %s "$2" >"$1" && chmod a+r "$1" && case $1 in *.sh) chmod a+x "$1";; esac`, "sh", path, files[path])
	}
	acctest.On(t, machine, "sh", "-c", "chmod a+rx /etc/bind /etc/keepalived; ! [ -d /var/named ] || chown -R bind /var/named")
	stageAddresses(t, machine, files["/etc/haproxy/haproxy.cfg"])
	for _, d := range daemons {
		if _, has := files[d.file]; !has {
			continue
		}
		out, err := acctest.Try(t.Context(), machine, "sh", "-c", d.check+" && { systemctl reset-failed "+d.unit+" 2>/dev/null; systemctl restart "+d.unit+"; } || { journalctl --no-pager -o cat -n 10 -u "+d.unit+"; exit 1; }")
		if err != nil {
			refused += fmt.Sprintf("%s: %v: %s\n", d.unit, err, out)
		}
	}
	return refused
}

var (
	boundAddress = regexp.MustCompile(`(?m)^\s*(?:bind|listen\s+\S+)\s+(\d+\.\d+\.\d+\.\d+):`)
	serverName   = regexp.MustCompile(`(?m)^\s*server\s+\S+\s+([A-Za-z][\w.-]*)`)
)

// stageAddresses has a machine the addresses that a configuration of HAProxy binds, and names for its servers: without them it does not start.
func stageAddresses(t *testing.T, machine, config string) {
	t.Helper()
	for _, m := range boundAddress.FindAllStringSubmatch(config, -1) {
		if m[1] != "0.0.0.0" && !strings.HasPrefix(m[1], "127.") {
			_, _ = acctest.Try(t.Context(), machine, "ip", "address", "add", m[1]+"/32", "dev", "lo")
		}
	}
	for _, m := range serverName.FindAllStringSubmatch(config, -1) {
		acctest.On(t, machine, "sh", "-c", `echo "192.0.2.10 $1" >>/etc/hosts`, "sh", m[1])
	}
}

// describe returns what an inventory says of files: what is there, as what, and what is left over in them.
func describe(r result, files map[string]string) string {
	var b bytes.Buffer
	for _, i := range r.Items {
		fmt.Fprintf(&b, "%s %s: %s\n", i.Type, i.Name, cmp.Or(i.Address, "not to be imported"))
	}
	fmt.Fprintf(&b, "\n%s\n", r.Configuration)
	for _, u := range r.Unmodelled {
		if concerns(u.Place, files) {
			fmt.Fprintf(&b, "%s\n    %s\n", u.Place, strings.ReplaceAll(u.What, "\n", "\n    "))
		}
	}
	return b.String()
}

// concerns says whether what is left over at a place is in one of the files, or is of an object: the machine has others of its own.
func concerns(place string, files map[string]string) bool {
	_, at, within := strings.Cut(place, ": ")
	for path := range files {
		if strings.HasPrefix(at, path) || strings.HasSuffix(at, "/") && strings.HasPrefix(path, at) {
			return true
		}
	}
	return !within
}

// What projects configure on a machine becomes configuration that plans nothing but imports, all else of it is told with its place, and the
// files stay as they are.
func TestAccInventoryOfConfigurations(t *testing.T) {
	acctest.InSandbox(t)
	acctest.KnownServiceNodes(t, 1)
	dir := cmp.Or(os.Getenv(configurationsVariable), ownConfigurations)
	own := dir == ownConfigurations
	projects, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, project := range projects {
		if !project.IsDir() {
			continue
		}
		t.Run(project.Name(), func(t *testing.T) {
			files := readTree(t, filepath.Join(dir, project.Name()))
			refused := put(t, files)
			r := read(t, acctest.NewState(t), acctest.Provider()+inventory(fmt.Sprintf("  service_nodes = [%q]\n", acctest.Endpoint("svc-1"))))
			imports := strings.Count(r.ImportBlocks, "import {")
			if own {
				if refused != "" {
					t.Fatalf("what is to be read does not run: %s", refused)
				}
				goldentest.Compare(t, filepath.Join(dir, project.Name()+".txt"), describe(r, files))
				adopt(t, r, fmt.Sprint(imports))
			} else if imports > 0 {
				s := acctest.NewState(t)
				s.Write(acctest.Provider() + r.ImportBlocks + "\n" + r.Configuration)
				plan := s.Run("plan")
				t.Logf("%s: %s\n%s%s\n%s", project.Name(), planned.FindString(plan), refused, describe(r, files), plan)
				if !strings.Contains(plan, fmt.Sprintf("Plan: %d to import, 0 to add, ", imports)) || !strings.Contains(plan, " 0 to destroy.") {
					t.Error("it plans more than imports and changes")
				}
			}
			for path, was := range files {
				if is, err := acctest.Try(t.Context(), "svc-1", "sh", "-c", `cat "$1"; echo .`, "sh", path); err != nil || is != strings.TrimSpace(was+".") {
					t.Errorf("%s is not as it was: %v\n%s", path, err, is)
				}
			}
		})
	}
}

var planned = regexp.MustCompile(`(?m)^Plan: .*|^No changes.*`)
