package parentcommand

import (
	"fmt"
	"os"
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
		t.Run(command, func(t *testing.T) {
			if got := parsesDestroy(strings.Fields(command)); got != want {
				t.Errorf("%q destroys: %v", command, got)
			}
		})
	}
}

func TestDestroyOfEverythingIsToldFromThatOfSome(t *testing.T) {
	for command, want := range map[string]bool{
		"terraform destroy": true, "tofu apply -destroy -auto-approve": true,
		"terraform destroy -target=virtcluster_node.a": false, "terraform destroy --target virtcluster_node.a": false,
		"tofu destroy -exclude=virtcluster_network.a": false, "tofu destroy -target-file=x": false, "terraform apply": false,
	} {
		t.Run(command, func(t *testing.T) {
			if got := destroysAll(strings.Fields(command)); got != want {
				t.Errorf("%q destroys everything: %v", command, got)
			}
		})
	}
}

func TestOptionsAreReadInEverySpelling(t *testing.T) {
	for _, arguments := range [][]string{{"terraform", "apply", "-state=x"}, {"terraform", "apply", "-state", "x"}, {"terraform", "apply", "--state=x"}} {
		t.Run(fmt.Sprint(arguments), func(t *testing.T) {
			if got := findOption(arguments, "state"); got != "x" {
				t.Errorf("the state of %q is %q", arguments, got)
			}
		})
	}
	if got := findOption([]string{"terraform", "state", "list"}, "state"); got != "" {
		t.Errorf("a subcommand is taken for an option: %q", got)
	}
}

func TestArgumentsAreThoseOfAProcess(t *testing.T) {
	if got := commandLine(os.Getpid()); len(got) == 0 || got[0] != os.Args[0] {
		t.Errorf("the arguments of this process are %q", got)
	}
}

// The program reads its environment behind the subcommand and before what is typed, which counts therefore.
func TestTheEnvironmentAddsToTheSubcommandBeforeWhatIsTyped(t *testing.T) {
	environment := map[string]string{"TF_CLI_ARGS": "-parallelism=1 -no-color", "TF_CLI_ARGS_plan": "-destroy", "TF_CLI_ARGS_apply": "-parallelism=3"}
	for typed, want := range map[string]string{
		"terraform plan": "terraform plan -destroy -parallelism=1 -no-color",
		"terraform -chdir=x apply -parallelism=5": "terraform -chdir=x apply -parallelism=3 -parallelism=1 -no-color -parallelism=5",
		"terraform destroy -auto-approve":         "terraform destroy -parallelism=1 -no-color -auto-approve",
		"terraform":                               "terraform",
		"":                                        "",
	} {
		t.Run(typed, func(t *testing.T) {
			if got := strings.Join(addEnvironment(strings.Fields(typed), func(name string) string { return environment[name] }), " "); got != want {
				t.Errorf("it is %q, not %q", got, want)
			}
		})
	}
}
