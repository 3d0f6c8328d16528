// Package parentcommand tells what a provider can know of the program that runs it, Terraform or OpenTofu: its protocol tells neither which
// state a resource is in nor whether all of it is being destroyed.
package parentcommand

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Arguments returns the command line of the program that runs the provider, with what the environment adds to it; none where
// the system does not tell.
var Arguments = sync.OnceValue(func() []string { return addEnvironment(commandLine(os.Getppid()), os.Getenv) })

// addEnvironment returns a command line with what the environment adds: where the program puts it, behind the subcommand, so that what is typed
// comes last and counts; that of another subcommand it does not read.
func addEnvironment(arguments []string, getenv func(name string) string) []string {
	if len(arguments) == 0 {
		return nil
	}
	subcommand := findSubcommand(arguments[1:])
	if subcommand == "" {
		return arguments
	}
	at := slices.Index(arguments[1:], subcommand) + 2
	added := append(strings.Fields(getenv("TF_CLI_ARGS_"+subcommand)), strings.Fields(getenv("TF_CLI_ARGS"))...)
	return slices.Concat(arguments[:at], added, arguments[at:])
}

// commandLine asks Linux by /proc, and other systems by ps, which loses where an argument with spaces ends.
func commandLine(pid int) []string {
	if text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil {
		return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, "ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// Destroys says whether the program destroys everything. It plans all resources first as if it did not, so that what stands in
// the way of a plan would stand in the way of getting rid of it.
var Destroys = sync.OnceValue(func() bool { return parsesDestroy(Arguments()) })

// DestroysAll says whether the program destroys every resource of its state, and not some that were chosen.
var DestroysAll = sync.OnceValue(func() bool { return destroysAll(Arguments()) })

func destroysAll(arguments []string) bool {
	return parsesDestroy(arguments) && !choosesTargets(arguments)
}

// choosesTargets says whether the program plans some resources of its configuration only.
func choosesTargets(arguments []string) bool {
	return slices.ContainsFunc(arguments, func(argument string) bool {
		option := strings.TrimLeft(argument, "-")
		return option != argument && (strings.HasPrefix(option, "target") || strings.HasPrefix(option, "exclude"))
	})
}

// Serial says whether the program has one resource changed at a time, so that none can wait for another one.
var Serial = sync.OnceValue(func() bool { return findOption(Arguments(), "parallelism") == "1" })

// usualParallelism is how many resources the program changes at a time where it is not told.
const usualParallelism = 10

// Parallelism returns how many resources the program changes at a time.
var Parallelism = sync.OnceValue(func() int { return parseParallelism(Arguments()) })

func parseParallelism(arguments []string) int {
	n, err := strconv.Atoi(findOption(arguments, "parallelism"))
	if err != nil || n < 1 {
		return usualParallelism
	}
	return n
}

// ChoosesTargets says whether the program plans and changes some resources of its configuration only.
var ChoosesTargets = sync.OnceValue(func() bool { return choosesTargets(Arguments()) })

func parsesDestroy(arguments []string) bool {
	if len(arguments) < 2 {
		return false
	}
	for _, argument := range arguments[1:] {
		if option := strings.TrimLeft(argument, "-"); option != argument && slices.Contains([]string{"destroy", "destroy=true"}, option) {
			return true
		}
	}
	return findSubcommand(arguments[1:]) == "destroy"
}

// findSubcommand is the first argument that is no option.
func findSubcommand(arguments []string) string {
	for _, argument := range arguments {
		if !strings.HasPrefix(argument, "-") {
			return argument
		}
	}
	return ""
}

// findOption returns the value of the last option of a name, written -name=VALUE or -name VALUE; "" where there is none.
func findOption(arguments []string, name string) string {
	found := ""
	for i, argument := range arguments {
		option, is := strings.CutPrefix(strings.TrimLeft(argument, "-"), name)
		if !is || !strings.HasPrefix(argument, "-") {
			continue
		}
		if value, written := strings.CutPrefix(option, "="); written {
			found = value
		} else if option == "" && i+1 < len(arguments) {
			found = arguments[i+1]
		}
	}
	return found
}
