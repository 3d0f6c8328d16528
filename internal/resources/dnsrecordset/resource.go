// Package dnsrecordset is virtcluster_dns_record_set: records added to a zone that somebody else describes.
package dnsrecordset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

// form is what an id looks like.
const form = "SERVICE_NODE#VIEW/ZONE/NAME/TYPE"

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, bind.RecordSet]{
		Name:   "dns_record_set",
		Noun:   "DNS record set",
		Label:  formatLabel,
		Schema: setSchema,
		Key:    []string{"service_node", "view", "zone", "name", "type"},
		ID:     formatID,
		Split:  (*model).splitID,
		Spec:   toSpec,
		Fill:   fillModel,
		Open:   openStore,
		Plan:   planChange,
	})
}

func formatID(m *model) string {
	zone, name, rrType := m.recordKey()
	return hostattr.JoinID(m.ServiceNode, m.View.ValueString()+"/"+zone+"/"+name+"/"+rrType)
}

func formatLabel(m *model) string {
	zone, name, rrType := m.recordKey()
	return fmt.Sprintf("%s %s in %s/%s", name, rrType, m.View.ValueString(), zone)
}

// splitID takes an id apart from both ends: a zone's name may hold a slash.
func (m *model) splitID(id string) error {
	node, part, err := hostattr.SplitID(id, form)
	if err != nil {
		return err
	}
	words := strings.Split(part, "/")
	n := len(words)
	if n < 4 {
		return errors.New("write " + form)
	}
	m.ServiceNode, m.View = node, convert.Text(words[0])
	m.Zone = types.StringValue(strings.Join(words[1:n-2], "/"))
	m.Name, m.Type = types.StringValue(words[n-2]), types.StringValue(words[n-1])
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[bind.RecordSet], error) {
	key, _ := toSpec(ctx, m)
	return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), bind.NewRecordSetPart(key, formatLabel(m), formatID(m), at.Claim.Mark(), time.Now()))
}
