package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

const (
	// definitionPageSize is the default and the maximum page size of the list of definitions. One call of Facets counts the items of all
	// entries on a page.
	definitionPageSize = library.MaxFacetValues
	// maxShownIDs is the maximum number of item ids in an entry.
	maxShownIDs = 100
)

// definitionRecord is a tag or a conversion unit in the list of definitions.
type definitionRecord struct {
	Kind string `json:"kind"`
	// ManagedBy is the manifest. It is nil for a tag that only callers set, and for a unit created over HTTP.
	ManagedBy *string `json:"managed_by"`
	// Namespace and Key are set for a tag.
	Namespace string `json:"namespace,omitempty"`
	Key       string `json:"key,omitempty"`
	// ID and the following members are set for a unit.
	ID              int64  `json:"id,omitempty"`
	Name            string `json:"name,omitempty"`
	ClickThroughURL string `json:"click_through_url,omitempty"`
	Default         bool   `json:"default,omitempty"`
	Archived        bool   `json:"archived,omitempty"`
	// IDs are the first item ids that the manifest lists. IDCount is the number of all item ids that it lists.
	IDs     []item.ID `json:"ids"`
	IDCount int       `json:"id_count"`
	// Selector is empty if it uses private fields that the caller may not read.
	Selector string `json:"selector"`
	// Problem says why the selector matches no item, or is "".
	Problem string `json:"problem,omitempty"`
	// Items is the number of items that have the tag or unit from any source.
	Items int64 `json:"items"`
	// value is the tag or the unit as a value of a facet.
	value string
}

// listDefinitions answers GET /v2/content/definitions (extension).
func (s *Server) listDefinitions(x *exchange) error {
	kind, err := x.required("kind")
	if err != nil {
		return err
	}
	if kind != "tag" && kind != "unit" {
		return invalid("kind", `must be "tag" or "unit"`)
	}
	at, err := x.pagingParams(definitionPageSize, definitionPageSize)
	if err != nil {
		return err
	}
	var all []definitionRecord
	total := 0
	err = x.budgeted(func(ctx context.Context) error {
		field := query.AllTags
		if kind == "tag" {
			all, err = x.tagDefinitions(ctx)
		} else {
			field = "activate_units.id"
			all, err = x.unitDefinitions()
		}
		if err != nil {
			return err
		}
		total = len(all)
		first := min((at.page-1)*at.size, int64(total))
		all = all[first:min(first+at.size, int64(total))]
		return x.countDefinitions(ctx, field, all)
	})
	if err != nil {
		return err
	}
	to := x.pageLinks(at.page, "", "")
	if at.page*at.size < int64(total) {
		to.next = x.linkHere(change{"page", strconv.FormatInt(at.page+1, 10)})
	}
	to.announce(x)
	type embedded struct {
		Definitions []definitionRecord `json:"definitions"`
	}
	return x.show(marshal(struct {
		Total    int      `json:"total_results"`
		Embedded embedded `json:"_embedded"`
		Links    links    `json:"_links"`
	}{total, embedded{all}, to}))
}

// countDefinitions sets the number of items of each definition. It counts the values of the field, which are the tags or units of the
// definitions.
func (x *exchange) countDefinitions(ctx context.Context, field string, defs []definitionRecord) error {
	values := make([]string, len(defs))
	for i, d := range defs {
		values[i] = d.value
	}
	found, err := x.countAll(ctx, library.Facet{Field: field, Only: values, Limit: len(values)})
	if err != nil {
		return err
	}
	counts := make(map[string]int64, len(found))
	for _, v := range found {
		counts[v.Value] = v.Count
	}
	for i, d := range defs {
		defs[i].Items = counts[d.value]
	}
	return nil
}

// tagDefinitions lists the tags of manifests, and the most frequent tags that only callers set, by namespace and key.
func (x *exchange) tagDefinitions(ctx context.Context) ([]definitionRecord, error) {
	defs, err := x.server.lib.Definitions(x.grant.property, library.KindTag)
	if err != nil {
		return nil, err
	}
	all := make([]definitionRecord, 0, len(defs))
	declared := make(map[item.Tag]bool, len(defs))
	add := func(t item.Tag) *definitionRecord {
		all = append(all, definitionRecord{
			Kind: library.KindTag.String(), Namespace: t.Namespace, Key: t.Key, IDs: []item.ID{}, value: t.Namespace + ":" + query.Fold(t.Key),
		})
		return &all[len(all)-1]
	}
	for _, d := range defs {
		declared[d.Tag.Tag] = true
		x.applies(add(d.Tag.Tag), d.Owner, d.Tag.Items, d.Tag.Selector)
	}
	frequent, err := x.countAll(ctx, library.Facet{Field: query.AllTags, Limit: library.MaxFacetValues})
	if err != nil {
		return nil, err
	}
	for _, v := range frequent {
		if t := tagOf(v.Value); !declared[t] {
			add(t)
		}
	}
	slices.SortFunc(all, func(a, b definitionRecord) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Key, b.Key))
	})
	return all, nil
}

// unitDefinitions lists all units by id.
func (x *exchange) unitDefinitions() ([]definitionRecord, error) {
	defs, err := x.server.lib.Definitions(x.grant.property, library.KindUnit)
	if err != nil {
		return nil, err
	}
	all := make([]definitionRecord, len(defs))
	for i, d := range defs {
		u := d.Unit.Unit
		all[i] = definitionRecord{
			Kind: library.KindUnit.String(), ID: u.ID, Name: u.Name, ClickThroughURL: u.ClickThroughURL, Default: d.Unit.Default,
			Archived: u.Archived, value: strconv.FormatInt(u.ID, 10),
		}
		x.applies(&all[i], d.Owner, d.Unit.Items, d.Unit.Selector)
	}
	slices.SortFunc(all, func(a, b definitionRecord) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// applies sets the owner of d, and describes the items to which the owner applies the tag or unit: their ids and the selector.
func (x *exchange) applies(d *definitionRecord, owner library.Owner, ids []item.ID, selector string) {
	if !owner.IsHTTP() {
		d.ManagedBy = new(x.shownOwner(owner).String())
	}
	d.IDs, d.IDCount = append([]item.ID{}, ids[:min(len(ids), maxShownIDs)]...), len(ids)
	d.Selector = x.shownQuery(selector)
	if _, _, err := library.ParseSelector(owner.Kind, selector); err != nil && d.Selector == selector {
		d.Problem = fmt.Sprintf("this version of the server cannot use the selector, so it matches no item: change the manifest: %v", err)
	}
}
