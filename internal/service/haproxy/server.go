package haproxy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Server states. A drained server gets no new connections and keeps the ones it has; one in maintenance is
// out of everything, checks included.
const (
	Ready = "ready"
	Drain = "drain"
	Maint = "maint"
)

// Server is one server of a backend.
type Server struct {
	// Address is an IP address in canonical form or a host name that HAProxy resolves when it starts.
	Address string `attr:"address"`
	Port    int64  `attr:"port"`
	Params
	// State is Ready, Drain or Maint.
	State string `attr:"state"`
}

// Params are what a server and default-server have in common. A nil pointer, a zero and an empty text are
// not written, so that the value is inherited: from default-server first, from HAProxy's own default last.
type Params struct {
	Weight    *int64 `attr:"weight"`
	Maxconn   int64  `attr:"maxconn"`
	Backup    *bool  `attr:"backup"`
	Check     *bool  `attr:"check"`
	CheckSSL  *bool  `attr:"check_ssl"`
	Verify    string `attr:"verify"`
	Inter     string `attr:"inter"`
	Fall      int64  `attr:"fall"`
	Rise      int64  `attr:"rise"`
	SendProxy *bool  `attr:"send_proxy"`
	// Options are the further words: "sni str(api) ca-file /etc/ssl/ca.pem".
	Options string `attr:"options,words"`
}

// SplitWords splits the words of Options into one text for each option.
func (Params) SplitWords(options string) []string { return groupOptions(serverFlags, options) }

// drainMark stands in a comment behind a server that drains: a configuration can only say it by weight 0,
// and the weight to go back to would be lost.
const drainMark = markPrefix + "drain"

func (s Server) serverLine() string {
	p, comment := s.Params, ""
	if s.State == Drain {
		comment = " # " + drainMark
		if p.Weight != nil {
			comment += " weight " + strconv.FormatInt(*p.Weight, 10)
		}
		p.Weight = new(int64)
	}
	line := joinEndpoint(s.Address, s.Port)
	if s.State == Maint {
		line += " disabled"
	}
	return strings.TrimSpace(line+" "+p.formatParams()) + comment
}

func parseServer(rest string) (name string, s Server, ok bool) {
	words, comment := rawWords(rest)
	if len(words) < 2 {
		return "", Server{}, false
	}
	address, port, ok := splitEndpoint(words[1])
	if !ok || !isAddress(address) && !isHostName(address) {
		return "", Server{}, false
	}
	s = Server{Address: CanonicalAddress(address), Port: port, State: Ready}
	params := words[2:]
	if i := slices.Index(params, "disabled"); i >= 0 {
		s.State = Maint
		params = slices.Delete(params, i, i+1)
	}
	s.Params = parseParams(params)
	mark, drains := cutKeyword(comment, drainMark)
	if drains && s.State == Ready && s.Weight != nil && *s.Weight == 0 {
		s.State, s.Weight = Drain, nil
		if weight, ok := cutKeyword(mark, "weight"); ok {
			if n, err := strconv.ParseInt(weight, 10, 64); err == nil {
				s.Weight = &n
			}
		}
	}
	return words[0], s, true
}

// formatParams renders the parameters in a fixed order.
func (p Params) formatParams() string {
	var words []string
	number := func(keyword string, n int64) {
		if n != 0 {
			words = append(words, keyword, strconv.FormatInt(n, 10))
		}
	}
	flag := func(keyword string, on *bool) {
		switch {
		case on != nil && *on:
			words = append(words, keyword)
		case on != nil:
			words = append(words, "no-"+keyword)
		}
	}
	flag("backup", p.Backup)
	if p.Weight != nil {
		words = append(words, "weight", strconv.FormatInt(*p.Weight, 10))
	}
	number("maxconn", p.Maxconn)
	flag("check", p.Check)
	flag("check-ssl", p.CheckSSL)
	if p.Verify != "" {
		words = append(words, "verify", p.Verify)
	}
	if p.Inter != "" {
		words = append(words, "inter", p.Inter)
	}
	number("fall", p.Fall)
	number("rise", p.Rise)
	flag("send-proxy", p.SendProxy)
	if p.Options != "" {
		words = append(words, p.Options)
	}
	return strings.Join(words, " ")
}

// parseParams is the inverse of formatParams; what has no attribute goes to Options, in order.
func parseParams(words []string) Params {
	var p Params
	var others []string
	for len(words) > 0 {
		if n := p.takeWords(words); n > 0 {
			words = words[n:]
			continue
		}
		n := min(1+countArguments(serverFlags, words[0]), len(words))
		others = append(others, words[:n]...)
		words = words[n:]
	}
	p.Options = strings.Join(others, " ")
	return p
}

// takeWords sets the attribute that the first words name and says how many it took.
func (p *Params) takeWords(words []string) int {
	flags := map[string]**bool{"backup": &p.Backup, "check": &p.Check, "check-ssl": &p.CheckSSL, "send-proxy": &p.SendProxy}
	name, negated := strings.CutPrefix(words[0], "no-")
	if value, ok := flags[name]; ok {
		on := !negated
		*value = &on
		return 1
	}
	if len(words) < 2 {
		return 0
	}
	texts := map[string]*string{"verify": &p.Verify, "inter": &p.Inter}
	if value, ok := texts[words[0]]; ok {
		*value = words[1]
		return 2
	}
	n, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	if words[0] == "weight" {
		p.Weight = &n
		return 2
	}
	numbers := map[string]*int64{"maxconn": &p.Maxconn, "fall": &p.Fall, "rise": &p.Rise}
	if value, ok := numbers[words[0]]; ok && n > 0 {
		*value = n
		return 2
	}
	return 0
}

// withDefaults fills what is unset from default-server.
func (p Params) withDefaults(d Params) Params {
	return Params{
		Weight: cmp.Or(p.Weight, d.Weight), Backup: cmp.Or(p.Backup, d.Backup), Check: cmp.Or(p.Check, d.Check),
		CheckSSL: cmp.Or(p.CheckSSL, d.CheckSSL), SendProxy: cmp.Or(p.SendProxy, d.SendProxy),
		Verify: cmp.Or(p.Verify, d.Verify), Inter: cmp.Or(p.Inter, d.Inter),
		Fall: cmp.Or(p.Fall, d.Fall), Rise: cmp.Or(p.Rise, d.Rise), Maxconn: cmp.Or(p.Maxconn, d.Maxconn),
		Options: strings.TrimSpace(d.Options + " " + p.Options),
	}
}

// withoutNegations leaves out the "no-" words, which the runtime API does not know.
func (p Params) withoutNegations() Params {
	for _, on := range []**bool{&p.Backup, &p.Check, &p.CheckSSL, &p.SendProxy} {
		if *on != nil && !**on {
			*on = nil
		}
	}
	return p
}
