package keepalived

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

const handWritten = `! by hand
global_defs {
    router_id lvs  # a comment
    smtp_server 192.0.2.1
}

vrrp_script chk_api {
    script "/usr/bin/curl -k https://localhost:6443/readyz"
    interval 2
}

vrrp_script idle {
    script "/bin/true"
}

vrrp_instance API {
    interface eth0
    virtual_router_id 51
    authentication {
        auth_type PASS
        auth_pass s3cret
    }
    virtual_ipaddress {
        192.0.2.100/24
    }
    track_script {
        chk_api
    }
}

vrrp_instance INGRESS {
    interface eth0
    virtual_router_id 52
    virtual_ipaddress {
        192.0.2.101/24
    }
}

vrrp_sync_group both {
    group {
        API
    }
}
`

func TestWhatIsNoVIPIsListedWithItsLine(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	tree.Put(Path, []byte(handWritten), 0o644, "root", "root")
	all, err := ListUnmodelled(tree)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, u := range all {
		said = append(said, u.Place+": "+strings.ReplaceAll(u.What, "\n", " |"))
	}
	want := []string{
		Path + ":2: global_defs { |    router_id lvs  # a comment |    smtp_server 192.0.2.1 |}",
		Path + ":12: vrrp_script idle { |    script \"/bin/true\" |}",
		Path + ":39: vrrp_sync_group both { |    group { |        API |    } |}",
	}
	if !slices.Equal(said, want) {
		t.Errorf("it lists\n%s", strings.Join(said, "\n"))
	}
	names, err := ListNames(tree)
	if err != nil || fmt.Sprint(names) != "[API INGRESS]" {
		t.Errorf("the instances are %v, %v", names, err)
	}
	if told := fmt.Sprint(all); strings.Contains(told, "s3cret") {
		t.Error("a secret is told")
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	tree.Put(Path, []byte("vrrp_instance a {\n"), 0o644, "root", "root")
	if _, err := ListUnmodelled(tree); err == nil {
		t.Error("a block without its end is taken")
	}
	if all, err := ListUnmodelled(transaction.Tree{}); err != nil || len(all) > 0 {
		t.Errorf("of nothing there is %v, %v", all, err)
	}
}

// A password may stand behind a variable, in one line or several.
func TestWhatAVariableStandsForIsNotTold(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	tree.Put(Path, []byte("$PASSWORD=s3cret\n$LONG=s3c\\\n  ret2\n@main $OF_ONE = s3cret\nglobal_defs {\n    $INSIDE=s3c\\\n  ret2\n    router_id a\n}\n"), 0o644, "root", "root")
	all, err := ListUnmodelled(tree)
	told := fmt.Sprint(all)
	if err != nil || !strings.Contains(told, "$PASSWORD=") || !strings.Contains(told, "router_id a") || strings.Contains(told, "s3c") || strings.Contains(told, "ret2") {
		t.Errorf("%v, %s", err, told)
	}
}
