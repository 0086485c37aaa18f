package reference

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// catalogue is everything that a property serves besides its items. It is never changed, only replaced.
type catalogue struct {
	spec    library.Property
	filters []*filter // by name, then id
	byUUID  map[string]*filter
	byID    map[int64]*filter
	units   map[int64]*unit
	// byDefault is the property's default unit, nil for none.
	byDefault *unit
	tagRules  []*rule
	unitRules []*rule
	rules     map[version]*rule
	// volatile are the rules that depend on more than the item.
	volatile []*rule
	// versions says which version of each source this was made from.
	versions map[source]version
}

// filter is a served filter.
type filter struct {
	record library.FilterRecord
	parsed library.ParsedFilter
}

// unit is a served conversion unit.
type unit struct {
	item.Unit
	encoded []byte
}

// rule is a served Tag or ActivateUnit: which items carry the tag or the unit because of it.
type rule struct {
	owner library.Owner
	tag   item.Tag // of a Tag
	unit  int64    // of an ActivateUnit
	// ids are the items named one by one, there or not.
	ids map[item.ID]bool
	// selector is nil where there is none.
	selector query.Node
	// volatile rules depend on more than the item: on the time, or (a fuzzy word stands for the most similar words there
	// are) on all other items. They are evaluated anew when the items or the time changed.
	volatile bool
}

// newCatalogues makes the catalogue of every served property. Those of before that would come out the same are kept, and
// so are the rules within the others.
func newCatalogues(all entries, before map[library.PropertyID]*catalogue) (map[library.PropertyID]*catalogue, error) {
	sources := map[library.PropertyID][]source{}
	specs := map[library.PropertyID]source{}
	for s, v := range all.verdicts {
		switch {
		case v.Serve == nil || v.Serve.Token != nil:
		case v.Serve.PropertySpec != nil:
			specs[v.Serve.Property] = s
			fallthrough
		default:
			sources[v.Serve.Property] = append(sources[v.Serve.Property], s)
		}
	}
	after := make(map[library.PropertyID]*catalogue, len(specs))
	for p := range specs {
		of := sources[p]
		slices.SortFunc(of, compareSources)
		c, err := newCatalogue(all, of, before[p])
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", p, err)
		}
		after[p] = c
	}
	return after, nil
}

func newCatalogue(all entries, sources []source, before *catalogue) (*catalogue, error) {
	c := &catalogue{
		byUUID: map[string]*filter{}, byID: map[int64]*filter{}, units: map[int64]*unit{},
		rules: map[version]*rule{}, versions: make(map[source]version, len(sources)),
	}
	same := before != nil && len(before.versions) == len(sources)
	for _, s := range sources {
		c.versions[s] = all.version(s)
		same = same && before.versions[s] == c.versions[s]
	}
	if same {
		return before, nil
	}
	for _, s := range sources {
		if spec := all.verdicts[s].Serve.PropertySpec; spec != nil {
			c.spec = *spec
		}
	}
	for _, s := range sources {
		served := *all.verdicts[s].Serve
		var err error
		switch {
		case served.Filter != nil:
			err = c.addFilter(served)
		case served.Tag != nil:
			err = c.addTag(served, c.versions[s], before)
		case served.Unit != nil:
			err = c.addUnit(served, c.versions[s], before, all.bySource[s].changed)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", served.Owner, err)
		}
	}
	slices.SortFunc(c.filters, func(a, b *filter) int {
		return cmp.Or(strings.Compare(a.record.Name, b.record.Name), cmp.Compare(a.record.ID, b.record.ID))
	})
	for _, r := range slices.Concat(c.tagRules, c.unitRules) {
		if r.volatile {
			c.volatile = append(c.volatile, r)
		}
	}
	// Units by rule follow an item's own ones by id, whatever the order in which their manifests came.
	slices.SortFunc(c.unitRules, func(a, b *rule) int { return cmp.Compare(a.unit, b.unit) })
	return c, nil
}

func (c *catalogue) addFilter(d library.Definition) error {
	parsed, err := library.ParseFilter(*d.Filter)
	if err != nil {
		return err
	}
	f := &filter{
		record: library.FilterRecord{Filter: *d.Filter, PlatformPageID: c.spec.PlatformPageID, Owner: d.Owner},
		parsed: parsed,
	}
	c.filters = append(c.filters, f)
	c.byUUID[f.record.UUID] = f
	c.byID[f.record.ID] = f
	return nil
}

func (c *catalogue) addTag(d library.Definition, v version, before *catalogue) error {
	r := before.rule(v)
	if r == nil {
		var err error
		if r, err = newRule(d.Owner, library.KindTag, d.Tag.Items, d.Tag.Selector); err != nil {
			return err
		}
		r.tag = d.Tag.Tag
	}
	c.rules[v] = r
	c.tagRules = append(c.tagRules, r)
	return nil
}

func (c *catalogue) addUnit(d library.Definition, v version, before *catalogue, changed time.Time) error {
	u := d.Unit.Unit
	u.Managed = !d.Owner.IsHTTP()
	if u.CreatedOn == "" && !d.Created.IsZero() {
		u.CreatedOn = d.Created.UTC().Format(time.RFC3339)
	}
	if u.LastModified == "" {
		u.LastModified = changed.UTC().Format(time.RFC3339)
	}
	served := &unit{Unit: u, encoded: item.EncodeUnit(u)}
	c.units[u.ID] = served
	if d.Unit.Default {
		c.byDefault = served
	}
	if d.Owner.IsHTTP() {
		return nil
	}
	r := before.rule(v)
	if r == nil {
		var err error
		if r, err = newRule(d.Owner, library.KindUnit, d.Unit.Items, d.Unit.Selector); err != nil {
			return err
		}
		r.unit = u.ID
	}
	c.rules[v] = r
	c.unitRules = append(c.unitRules, r)
	return nil
}

// rule returns the rule that was made from that version, nil for none.
func (c *catalogue) rule(v version) *rule {
	if c == nil {
		return nil
	}
	return c.rules[v]
}

func newRule(owner library.Owner, kind library.Kind, ids []item.ID, selector string) (*rule, error) {
	node, _, err := library.ParseSelector(kind, selector)
	if err != nil {
		return nil, err
	}
	r := &rule{owner: owner, ids: make(map[item.ID]bool, len(ids)), selector: node}
	for _, id := range ids {
		r.ids[id] = true
	}
	r.volatile = node != nil && (query.UsesNow(node) || hasFuzzy(node))
	return r, nil
}

// hasFuzzy reports whether a tree holds a fuzzy word.
func hasFuzzy(n query.Node) bool {
	return !query.Walk(n, func(n query.Node) bool {
		_, fuzzy := n.(query.Fuzzy)
		return !fuzzy
	})
}
