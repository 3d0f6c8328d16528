package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestDestroyIsToldFromEverythingElse(t *testing.T) {
	for command, want := range map[string]bool{
		"terraform destroy": true, "terraform destroy -auto-approve": true, "tofu apply -destroy": true, "terraform plan --destroy": true,
		"terraform -chdir=x destroy": true, "terraform apply -destroy=true": true,
		"terraform apply": false, "terraform plan -target=module.destroy": false, "terraform apply destroy.plan": false, "terraform": false, "": false,
		"terraform apply -destroy=false": false, "terraform state rm destroy": false,
	} {
		if got := parsesDestroy(strings.Fields(command)); got != want {
			t.Errorf("%q destroys: %v", command, got)
		}
	}
}

func TestDestroyOfEverythingIsToldFromThatOfSome(t *testing.T) {
	for command, want := range map[string]bool{
		"terraform destroy": true, "tofu apply -destroy -auto-approve": true,
		"terraform destroy -target=virtcluster_node.a": false, "terraform destroy --target virtcluster_node.a": false,
		"tofu destroy -exclude=virtcluster_network.a": false, "tofu destroy -target-file=x": false, "terraform apply": false,
	} {
		if got := destroysAll(strings.Fields(command)); got != want {
			t.Errorf("%q destroys everything: %v", command, got)
		}
	}
}

func TestOptionsAreReadInEverySpelling(t *testing.T) {
	for _, arguments := range [][]string{{"terraform", "apply", "-state=x"}, {"terraform", "apply", "-state", "x"}, {"terraform", "apply", "--state=x"}} {
		if got := findOption(arguments, "state"); got != "x" {
			t.Errorf("the state of %q is %q", arguments, got)
		}
	}
	if got := findOption([]string{"terraform", "state", "list"}, "state"); got != "" {
		t.Errorf("a subcommand is taken for an option: %q", got)
	}
}

func TestArgumentsAreThoseOfAProcess(t *testing.T) {
	t.Setenv("TF_CLI_ARGS_destroy", "-refresh=false")
	got := parentArguments(os.Getpid())
	if len(got) == 0 || got[0] != os.Args[0] || !slices.Contains(got, "-refresh=false") {
		t.Errorf("the arguments of this process are %q", got)
	}
}
