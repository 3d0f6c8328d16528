package registry_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// builderHash is of the password "builder".
const builderHash = "$2a$05$NCix8S1cxsqnROkaXIChV.KmpA5VlHXgEplyWRmD.V6QmMxu5SdUC"

func service(node string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "it" {
  endpoint = "ssh://root@%s"
  services = ["registry"]
}
`, node)
}

func registry(name, more string) string {
	return fmt.Sprintf(`
resource "virtcluster_registry" %[1]q {
  service_node = virtcluster_service_node.it.id
  name         = %[1]q
  %[2]s
}
`, name, more)
}

// copyImage has skopeo on the hypervisor copy an image.
func copyImage(t *testing.T, from, to string, options ...string) error {
	t.Helper()
	argv := append([]string{"skopeo", "--insecure-policy", "copy", "--src-tls-verify=false", "--dest-tls-verify=false"}, options...)
	if out, err := acctest.Try(t.Context(), "hypervisor", append(argv, from, to)...); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// TestAccImagesArePushedAndPulled has a registry, and a mirror of it that serves on when that has ended.
func TestAccImagesArePushedAndPulled(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.On(t, "hypervisor", "sh", "-c", `rm -rf /tmp/image && mkdir -p /tmp/image/blobs/sha256 && cd /tmp/image
printf '{"imageLayoutVersion":"1.0.0"}' >oci-layout
put() { sum=$(sha256sum <"$1" | cut -d " " -f 1); size=$(wc -c <"$1"); mv "$1" "blobs/sha256/$sum"; }
echo hello >hello && tar -cf layer hello && rm hello && put layer && layer=$sum layersize=$size
printf '{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "$layer" >config && put config
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:%s","size":%d},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:%s","size":%d}]}' "$sum" "$size" "$layer" "$layersize" >manifest && put manifest
printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":%d,"annotations":{"org.opencontainers.image.ref.name":"1"}}]}' "$sum" "$size" >index.json
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=registry -addext subjectAltName=IP:`+node+` -keyout /tmp/image/tls.key -out /tmp/image/tls.crt 2>/dev/null
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out /tmp/image/other.key 2>/dev/null`)
	leavesNothing := acctest.LeavesNothing(t, "svc-1", "/etc/virtcluster* /etc/docker /etc/systemd/system/*virtcluster* /etc/systemd/system/*/*virtcluster* /var/lib/virtcluster*", "ss -Hltn 'sport = :5000 or sport = :5001'")
	pulls := func(port int, options ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			acctest.On(t, "hypervisor", "rm", "-rf", "/tmp/pulled")
			if err := copyImage(t, fmt.Sprintf("docker://%s:%d/hello:1", node, port), "dir:/tmp/pulled", options...); err != nil {
				return err
			}
			acctest.On(t, "hypervisor", "grep", "-q", "schemaVersion", "/tmp/pulled/manifest.json")
			return nil
		}
	}
	push := func(port int, options ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			return copyImage(t, "oci:/tmp/image:1", fmt.Sprintf("docker://%s:%d/hello:1", node, port), options...)
		}
	}
	mirror := registry("mirror", fmt.Sprintf("port = 5001\n mirror_of = \"http://%s:5000\"", node))
	secured := registry("images", `users = { builder = "`+builderHash+`" }
  tls = { certificate = file("/tmp/image/tls.crt"), key = file("/tmp/image/tls.key") }`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(s *terraform.State) error {
			acctest.On(t, "svc-1", "rm", "-r", "/var/lib/virtcluster-registry") // the images stay
			acctest.On(t, "svc-1", "rmdir", "/srv/theirs")
			return leavesNothing(s)
		},
		Steps: []resource.TestStep{
			{Config: service(node)},
			{Config: service(node) + registry("images", `users = { builder = "secret" }`), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid bcrypt hash")},
			{Config: service(node) + registry("images", "") + registry("other", ""), PlanOnly: true, ExpectError: regexp.MustCompile("Port in use")},
			{Config: service(node) + registry("images", `tls = { certificate = file("/tmp/image/tls.crt"), key = file("/tmp/image/other.key") }`), PlanOnly: true, ExpectError: regexp.MustCompile("Certificate and key do not fit")},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sh", "-c", "socat -u TCP-LISTEN:5000,fork OPEN:/dev/null >/dev/null 2>&1 </dev/null & echo $! >/tmp/socat.pid; sleep 1")
				},
				Config: service(node) + registry("images", ""), PlanOnly: true, ExpectError: regexp.MustCompile(`socat\s+on\s+.*listens\s+at`),
			},
			{PreConfig: func() { acctest.On(t, "svc-1", "sh", "-c", "kill $(cat /tmp/socat.pid); rm /tmp/socat.pid") }, Config: service(node) + registry("images", "") + mirror, Check: resource.ComposeTestCheckFunc(push(5000), pulls(5000), pulls(5001))},
			{ResourceName: "virtcluster_registry.mirror", ImportState: true, ImportStateVerify: true},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sed", "-i", "s|remoteurl: .*|remoteurl: http://192.0.2.1|", "/etc/virtcluster-registry/mirror/config.yml")
				},
				Config: service(node) + registry("images", "") + mirror, Check: func(*terraform.State) error {
					acctest.On(t, "svc-1", "grep", "-q", "remoteurl: http://"+node, "/etc/virtcluster-registry/mirror/config.yml")
					return nil
				},
			},
			{
				PreConfig: func() { acctest.On(t, "svc-1", "mkdir", "/srv/theirs") },
				Config:    service(node) + registry("images", `storage = "/srv/theirs"`) + mirror, ExpectError: regexp.MustCompile(`may\s+not\s+write`),
			},
			{
				PreConfig: func() { acctest.On(t, "svc-1", "systemctl", "stop", "virtcluster-registry@images") },
				Config:    service(node) + registry("images", "") + mirror, PlanOnly: true, ExpectNonEmptyPlan: true,
			},
			{RefreshState: true, ExpectNonEmptyPlan: true, Check: pulls(5001)}, // with its uplink cut
			{PreConfig: func() { acctest.On(t, "svc-1", "systemctl", "restart", "virtcluster-registry@mirror") }, RefreshState: true, ExpectNonEmptyPlan: true, Check: pulls(5001)},
			{Config: service(node) + registry("images", "") + mirror, Check: func(*terraform.State) error {
				acctest.On(t, "svc-1", "sh", "-c", `n=0; until pgrep -f "docker-registry serve /etc/virtcluster-registry/mirror/config.yml"; do [ $((n += 1)) -lt 60 ] || exit 1; sleep 1; done`)
				return nil
			}},
			{Config: service(node) + secured, Check: resource.ComposeTestCheckFunc(
				func(*terraform.State) error {
					if pulls(5000)(nil) == nil {
						return fmt.Errorf("everybody pulls")
					}
					return nil
				},
				pulls(5000, "--src-creds=builder:builder"),
			)},
			{PreConfig: func() { acctest.Reboot(t, "svc-1") }, Config: service(node) + secured, Check: pulls(5000, "--src-creds=builder:builder")},
		},
	})
}
