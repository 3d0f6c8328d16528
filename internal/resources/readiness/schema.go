package readiness

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// maxTimeout is how long an apply may wait.
const maxTimeout = 24 * time.Hour

// duration is that of a wait.
var duration = values.Duration(time.Millisecond, maxTimeout)

func resourceSchema(context.Context) schema.Schema {
	one := stringvalidator.ExactlyOneOf(path.MatchRoot("url"), path.MatchRoot("tcp"), path.MatchRoot("dns"))
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "Waits until a URL, a port or a name answers as it should, and fails with the last reason why not: what depends on it comes after. " +
			"It is asked when the resource is created and when one of its attributes changes, or, with `when = \"destroy\"`, before it goes: what it depends on, such as a cluster's bootstrap, stays until then. A refresh asks nothing.",
		Attributes: map[string]schema.Attribute{
			"id": hostattr.ID(form),
			"url": schema.StringAttribute{
				Optional: true, PlanModifiers: replace, Validators: []validator.String{one, values.Word},
				MarkdownDescription: "URL that is asked for with GET, redirects followed: `https://api.okd.example:6443/readyz`. One of `url`, `tcp` and `dns` is written.",
			},
			"tcp": schema.StringAttribute{
				Optional: true, PlanModifiers: replace, Validators: []validator.String{values.Word}, MarkdownDescription: "Port that must take a connection: `api.okd.example:6443`.",
			},
			"dns": schema.StringAttribute{
				Optional: true, PlanModifiers: replace, Validators: []validator.String{values.HostName}, MarkdownDescription: "Name that must resolve, by the resolver of the machine that asks.",
			},
			"from": schema.StringAttribute{
				Optional: true, PlanModifiers: replace, Validators: []validator.String{values.Endpoint},
				MarkdownDescription: "Machine that asks: an endpoint such as `ssh://root@10.0.0.100`, or the id of a `virtcluster_service_node`. For a `url` it needs curl. Default: the computer that Terraform runs on.",
			},
			"expect": values.OptionalObject("What counts as ready.", values.Attributes{
				"status":    values.Each(values.Between(100, 599)).Some().OptionalList("HTTP status codes that count. Default: 200 to 299."),
				"body":      values.Text.Optional("Regular expression ([RE2](https://github.com/google/re2/wiki/Syntax)) that the answer's first MiB must match."),
				"addresses": values.Each(values.Address).Some().Distinct().OptionalList("What the name must resolve to, all of it and nothing else, in any order. Default: any address."),
			}),
			"ca_certificate": values.Text.Optional("Certificates of authorities as PEM that the server's is checked by. Default: those of the machine that asks."),
			"insecure":       values.Flag.Default(false, "Take any certificate. Default: `false`."),
			"interval":       duration.Default("5s", "Time between an answer and the next question. Default: `5s`."),
			"timeout":        duration.Default("10m", "Time after which it has failed, 24 hours at most. Default: `10m`."),
			"when": values.OneOf("create", "destroy").Optional("`create` (default), or `destroy`: it is asked before it is destroyed, and only then. Terraform destroys what it depends on after it, and changes what depends on it after it too; all of that waits, and is left as it is where this fails. " +
				"What is replaced, as its target is another one, is asked by the old target. Nothing is asked where the program destroys everything."),
			"triggers": values.Each(values.Free).OptionalMap("Any values; when one changes, it is asked again."),
			"answer":   schema.StringAttribute{Computed: true, MarkdownDescription: "What was answered when it was ready: `200 OK`, `connected`, or the addresses; null with `when = \"destroy\"`, and `given up` where that was changed to `create`."},
		},
	}
}
