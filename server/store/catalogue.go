package store

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Catalogue is everything that a property serves besides its items. It is never changed, only replaced, so that a pointer
// tells one version; nobody may write to what it holds.
type Catalogue struct {
	// Property is whose it is, Spec its settings.
	Property library.PropertyID
	Spec     library.Property
	// Filters are sorted by name, then id.
	Filters []*Filter
	// Units are by id; see Unit for one of them.
	Units []*Unit
	// Default is the property's default unit, nil for none.
	Default *Unit
	// TagRules are the Tag manifests, sorted by owner. No two bring the same tag.
	TagRules []*Rule
	// UnitRules are the ActivateUnit manifests, sorted by the id of their unit: the order in which units by rule follow an
	// item's own ones. Units made over HTTP have no rule.
	UnitRules []*Rule

	byUUID map[string]*Filter
	byID   map[int64]*Filter
	units  map[int64]*Unit
	rules  map[version]*Rule
	// versions says which version of each source this was made from.
	versions map[source]version
}

// Filter is a served filter with its texts parsed.
type Filter struct {
	Record library.FilterRecord
	Parsed library.ParsedFilter
}

// Unit is a served conversion unit with its JSON, as item.Slots take it.
type Unit struct {
	item.Unit
	Encoded []byte
}

// Rule is a served Tag or ActivateUnit: which items carry the tag or the unit because of it. It is never changed; a
// version that says the same in a later catalogue is the same pointer, as long as the store is not opened anew.
type Rule struct {
	// Name differs between any two rules, and between any two versions of one; it outlives restarts.
	Name  string
	Owner library.Owner
	// Tag is that of a Tag, Unit the id of an ActivateUnit's; the other one is zero.
	Tag  item.Tag
	Unit int64
	// IDs are the items named one by one, there or not; sorted and unique.
	IDs []item.ID
	// Selector is nil where there is none.
	Selector query.Node
	// Volatile rules depend on more than the item: on the time, or (a fuzzy word stands for the most similar words there
	// are) on all other items.
	Volatile bool
}

// Names reports whether the rule names an item by its id.
func (r *Rule) Names(id item.ID) bool {
	_, found := slices.BinarySearch(r.IDs, id)
	return found
}

// Filter finds a filter by either of its names. ErrNotFound, also for a nil catalogue.
func (c *Catalogue) Filter(ref library.FilterRef) (*Filter, error) {
	if c == nil {
		return nil, fmt.Errorf("property: %w", library.ErrNotFound)
	}
	f := c.byUUID[ref.UUID]
	if ref.UUID == "" {
		f = c.byID[ref.ID]
	}
	if f == nil {
		return nil, fmt.Errorf("filter %s%d of property %s: %w", ref.UUID, ref.ID, c.Property, library.ErrNotFound)
	}
	return f, nil
}

// Unit finds a unit, nil where there is none.
func (c *Catalogue) Unit(id int64) *Unit { return c.units[id] }

// Listing puts a Read together with the filter that it names. Errors are those of library.NewListing and ErrNotFound.
func (c *Catalogue) Listing(r library.Read) (library.Listing, error) {
	if r.Filter == nil {
		return library.NewListing(r, nil, "")
	}
	f, err := c.Filter(*r.Filter)
	if err != nil {
		return library.Listing{}, err
	}
	return library.NewListing(r, &f.Parsed, f.Record.UUID)
}

// Slots makes the slots of an item that shows units, by id and in order; those that the property does not have are left
// out. The first that is not archived is the item's default, else the property's.
func (c *Catalogue) Slots(units []int64, baseURL string) item.Slots {
	slots := item.Slots{BaseURL: baseURL}
	for _, id := range units {
		u := c.units[id]
		if u == nil {
			continue
		}
		slots.Units = append(slots.Units, u.Encoded)
		if slots.Default == nil && !u.Archived {
			slots.Default = u.Encoded
		}
	}
	if slots.Default == nil && c.Default != nil {
		slots.Default = c.Default.Encoded
	}
	return slots
}

// newCatalogues makes the catalogue of every served property. Those of before that would come out the same are kept, and
// so are the rules within the others.
func newCatalogues(all entries, before map[library.PropertyID]*Catalogue) (map[library.PropertyID]*Catalogue, error) {
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
	after := make(map[library.PropertyID]*Catalogue, len(specs))
	for p := range specs {
		of := sources[p]
		slices.SortFunc(of, compareSources)
		c, err := newCatalogue(p, all, of, before[p])
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", p, err)
		}
		after[p] = c
	}
	return after, nil
}

func newCatalogue(p library.PropertyID, all entries, sources []source, before *Catalogue) (*Catalogue, error) {
	c := &Catalogue{
		Property: p, byUUID: map[string]*Filter{}, byID: map[int64]*Filter{}, units: map[int64]*Unit{},
		rules: map[version]*Rule{}, versions: make(map[source]version, len(sources)),
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
			c.Spec = *spec
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
	slices.SortFunc(c.Filters, func(a, b *Filter) int {
		return cmp.Or(strings.Compare(a.Record.Name, b.Record.Name), cmp.Compare(a.Record.ID, b.Record.ID))
	})
	slices.SortFunc(c.Units, func(a, b *Unit) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(c.UnitRules, func(a, b *Rule) int { return cmp.Compare(a.Unit, b.Unit) })
	return c, nil
}

func (c *Catalogue) addFilter(d library.Definition) error {
	parsed, err := library.ParseFilter(*d.Filter)
	if err != nil {
		return err
	}
	f := &Filter{
		Record: library.FilterRecord{Filter: *d.Filter, PlatformPageID: c.Spec.PlatformPageID, Owner: d.Owner},
		Parsed: parsed,
	}
	c.Filters = append(c.Filters, f)
	c.byUUID[f.Record.UUID] = f
	c.byID[f.Record.ID] = f
	return nil
}

func (c *Catalogue) addTag(d library.Definition, v version, before *Catalogue) error {
	r := before.rule(v)
	if r == nil {
		var err error
		if r, err = newRule(d, library.KindTag, d.Tag.Items, d.Tag.Selector); err != nil {
			return err
		}
		r.Tag = d.Tag.Tag
	}
	c.rules[v] = r
	c.TagRules = append(c.TagRules, r)
	return nil
}

func (c *Catalogue) addUnit(d library.Definition, v version, before *Catalogue, changed time.Time) error {
	u := d.Unit.Unit
	u.Managed = !d.Owner.IsHTTP()
	if u.CreatedOn == "" && !d.Created.IsZero() {
		u.CreatedOn = d.Created.UTC().Format(time.RFC3339)
	}
	if u.LastModified == "" {
		u.LastModified = changed.UTC().Format(time.RFC3339)
	}
	served := &Unit{Unit: u, Encoded: item.EncodeUnit(u)}
	c.Units = append(c.Units, served)
	c.units[u.ID] = served
	if d.Unit.Default {
		c.Default = served
	}
	if d.Owner.IsHTTP() {
		return nil
	}
	r := before.rule(v)
	if r == nil {
		var err error
		if r, err = newRule(d, library.KindUnit, d.Unit.Items, d.Unit.Selector); err != nil {
			return err
		}
		r.Unit = u.ID
	}
	c.rules[v] = r
	c.UnitRules = append(c.UnitRules, r)
	return nil
}

// rule returns the rule that was made from that version, nil for none.
func (c *Catalogue) rule(v version) *Rule {
	if c == nil {
		return nil
	}
	return c.rules[v]
}

// ownerOfUnit returns the manifest that brings a unit, or HTTP.
func (c *Catalogue) ownerOfUnit(id int64) library.Owner {
	for _, r := range c.UnitRules {
		if r.Unit == id {
			return r.Owner
		}
	}
	return library.Owner{}
}

func newRule(d library.Definition, kind library.Kind, ids []item.ID, selector string) (*Rule, error) {
	node, _, err := library.ParseSelector(kind, selector)
	if err != nil {
		return nil, err
	}
	sum, err := library.Fingerprint(d)
	if err != nil {
		return nil, err
	}
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	return &Rule{
		Name: d.Owner.String() + " " + hex.EncodeToString(sum[:8]), Owner: d.Owner, IDs: slices.Compact(sorted),
		Selector: node, Volatile: node != nil && (query.UsesNow(node) || hasFuzzy(node)),
	}, nil
}

// hasFuzzy reports whether a tree holds a fuzzy word.
func hasFuzzy(n query.Node) bool {
	return !query.Walk(n, func(n query.Node) bool {
		_, fuzzy := n.(query.Fuzzy)
		return !fuzzy
	})
}
