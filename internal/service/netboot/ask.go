package netboot

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// askScript asks for URLs on a machine.
//
//go:embed ask.sh
var askScript string

// errUnasked says that nobody could ask whether URLs answer, which proves nothing.
var errUnasked = errors.New("there is no curl by which it would be asked whether kernel and initrd are there")

// asked is a URL of a profile, with its attribute.
type asked struct {
	url  string
	path []any
}

// listURLs are those that a profile needs and another one, which was there before, did not: all of them where the machine is to be installed
// again.
func (p Profile) listURLs(was Profile) (all []asked) {
	again, had := p.Generation != was.Generation, map[string]bool{was.Kernel: true}
	for _, url := range was.Initrd {
		had[url] = true
	}
	add := func(url string, path ...any) {
		if url != "" && (again || !had[url]) {
			all = append(all, asked{url, path})
		}
	}
	add(p.Kernel, "kernel")
	for i, url := range p.Initrd {
		add(url, "initrd", i)
	}
	return all
}

// Ask returns which URL of a profile does not answer the machine of one of its servers, as an error at its attribute. Asked is for what the
// profile did not need before, and not for what is served only once the plan is applied, as comes says; nil is nothing.
func (s *ProfileStore) Ask(ctx context.Context, was, want Profile, comes func(url string) bool) error {
	var all []asked
	var args []string
	for _, a := range want.listURLs(was) {
		if comes == nil || !comes(a.url) {
			all, args = append(all, a), append(args, a.url)
		}
	}
	if len(all) == 0 {
		return nil
	}
	for _, p := range s.listParts() {
		cmd := host.Script("ask for what is to be booted", askScript, args...)
		cmd.Repeatable = true
		out, err := p.Host.Run(ctx, cmd)
		if exit, ended := errors.AsType[*host.ExitError](err); ended && exit.Code == exitNoCurl {
			return fmt.Errorf("%s: %w", p.Host, errUnasked)
		}
		if err != nil {
			return err
		}
		if err := judgeAnswers(string(out), all, p.Host.String()); err != nil {
			return err
		}
	}
	return nil
}

const exitNoCurl = 3

func judgeAnswers(said string, all []asked, machine string) error {
	for line := range strings.Lines(said) {
		number, words, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= len(all) {
			return fmt.Errorf("ask on %s for what is to be booted: it says %q", machine, line)
		}
		return service.At(all[n].path, fmt.Errorf("%s does not answer %s, which would fetch it for the machine: %s. Write a URL that does; where this configuration serves it, "+
			"write the url of its virtcluster_http_content, which comes first then", all[n].url, machine, words))
	}
	return nil
}
