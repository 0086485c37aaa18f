package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// source is one reason why an item has a tag or a unit.
type source struct {
	// Kind is Tag, ActivateUnit, or caller. It is caller if the tag or unit was set over HTTP or imported. For caller, the other members
	// are empty.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// By is "id" if the manifest lists the item, or "selector" if its selector matches the item.
	By string `json:"by,omitempty"`
}

// sourcedTag and sourcedUnit are a tag and a unit of an item, with the reasons why the item has them.
type sourcedTag struct {
	tagRecord
	Sources []source `json:"sources"`
}

type sourcedUnit struct {
	ID      int64    `json:"id"`
	Label   string   `json:"label"`
	Sources []source `json:"sources"`
}

// itemSources is the response of showSources.
type itemSources struct {
	Tags  []sourcedTag  `json:"tags"`
	Units []sourcedUnit `json:"units"`
	Links links         `json:"_links"`
}

// showSources answers GET /v2/content/items/{id}/sources (extension).
func (s *Server) showSources(x *exchange) error {
	id, err := x.pathNumber("id")
	if err != nil {
		return err
	}
	if id < 1 {
		return noItem(id)
	}
	out := itemSources{Tags: []sourcedTag{}, Units: []sourcedUnit{}, Links: links{self: x.linkHere()}}
	err = x.budgeted(func(ctx context.Context) error {
		shown, err := x.readItem(ctx, id)
		if err != nil {
			return err
		}
		own, err := x.ownItem(ctx, id)
		if err != nil {
			return err
		}
		if out.Tags, err = x.tagSources(ctx, own); err != nil {
			return err
		}
		out.Units, err = x.unitSources(ctx, own, shown)
		return err
	})
	if err != nil {
		return orNoItem(err, id)
	}
	return x.show(marshal(out))
}

// ownItem returns an item with its own tags and units, without those from manifests. It reads the item from an export.
func (x *exchange) ownItem(ctx context.Context, id item.ID) (*item.Item, error) {
	for text, err := range x.server.lib.Export(ctx, x.grant.property, library.ItemTerm(id)) {
		if err != nil {
			return nil, err
		}
		line, err := item.ParseLine(text, x.server.parseOptions())
		if err != nil {
			return nil, fmt.Errorf("read an exported item: %w", err)
		}
		return line.Item, nil
	}
	return nil, library.ErrNotFound
}

// tagSources returns the tags of an item with their sources. At most one manifest declares each tag.
func (x *exchange) tagSources(ctx context.Context, own *item.Item) ([]sourcedTag, error) {
	tags, err := x.server.lib.ItemTags(ctx, x.grant.property, own.ID)
	if err != nil {
		return nil, err
	}
	defs, err := x.server.lib.Definitions(x.grant.property, library.KindTag)
	if err != nil {
		return nil, err
	}
	declared := make(map[item.Tag]library.Definition, len(defs))
	for _, d := range defs {
		declared[d.Tag.Tag] = d
	}
	all := make([]sourcedTag, len(tags))
	for i, t := range tags {
		all[i] = sourcedTag{tagRecord: tagRecord(t), Sources: []source{}}
		if slices.Contains(own.Tags, t) {
			all[i].Sources = append(all[i].Sources, source{Kind: "caller"})
		}
		if d, ok := declared[t]; ok {
			found, err := x.sourcesOf(ctx, d.Owner, own.ID, d.Tag.Items, d.Tag.Selector)
			if err != nil {
				return nil, err
			}
			all[i].Sources = append(all[i].Sources, found...)
		}
	}
	return all, nil
}

// unitSources returns the units of an item with their sources, in the order in which the item shows them. shown is the item as JSON.
func (x *exchange) unitSources(ctx context.Context, own *item.Item, shown []byte) ([]sourcedUnit, error) {
	var it struct {
		Units []struct {
			ID   int64  `json:"id"`
			Name string `json:"name"`
		} `json:"activate_units"`
	}
	if err := json.Unmarshal(shown, &it); err != nil {
		return nil, fmt.Errorf("read the units of an item: %w", err)
	}
	defs, err := x.server.lib.Definitions(x.grant.property, library.KindUnit)
	if err != nil {
		return nil, err
	}
	declared := make(map[int64]library.Definition, len(defs))
	for _, d := range defs {
		if !d.Owner.IsHTTP() {
			declared[d.Unit.Unit.ID] = d
		}
	}
	all := make([]sourcedUnit, len(it.Units))
	for i, u := range it.Units {
		all[i] = sourcedUnit{ID: u.ID, Label: u.Name, Sources: []source{}}
		if slices.Contains(own.Units, u.ID) {
			all[i].Sources = append(all[i].Sources, source{Kind: "caller"})
		}
		if d, ok := declared[u.ID]; ok {
			found, err := x.sourcesOf(ctx, d.Owner, own.ID, d.Unit.Items, d.Unit.Selector)
			if err != nil {
				return nil, err
			}
			all[i].Sources = append(all[i].Sources, found...)
		}
	}
	return all, nil
}

// sourcesOf returns the reasons why a manifest applies to an item: the manifest lists the id, its selector matches the item, or both. If
// the manifest does not apply to the item, sourcesOf returns none.
func (x *exchange) sourcesOf(ctx context.Context, owner library.Owner, id item.ID, ids []item.ID, selector string) ([]source, error) {
	var all []source
	shown := x.shownOwner(owner)
	from := source{Kind: shown.Kind.String(), Namespace: shown.Namespace, Name: shown.Name}
	if slices.Contains(ids, id) {
		from.By = "id"
		all = append(all, from)
	}
	node, _, err := library.ParseSelector(owner.Kind, selector)
	if err != nil || node == nil {
		return all, nil // a selector that this version of the server cannot parse matches no item
	}
	matched, err := x.countItems(ctx, library.ItemTerm(id), node)
	if matched > 0 {
		from.By = "selector"
		all = append(all, from)
	}
	return all, err
}

// countItems returns the number of items in the scope of the token that match q and, if where is not nil, also where. Both may use private
// fields.
func (x *exchange) countItems(ctx context.Context, q, where query.Node) (int64, error) {
	r := x.seen(library.Read{Query: q, Where: where})
	r.Audience = query.Private
	page, err := x.server.lib.Read(ctx, r)
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

// tagOf parses a value of query.AllTags as a tag. A namespace can contain a colon, but a key cannot.
func tagOf(value string) item.Tag {
	at := strings.LastIndexByte(value, ':')
	return item.Tag{Namespace: value[:at], Key: value[at+1:]}
}
