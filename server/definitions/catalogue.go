package definitions

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
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
	// Units are by id; see Unit for one of them.
	Units []*Unit
	// Default is the property's default unit, nil for none.
	Default *Unit
	// TagRules are the Tag manifests, sorted by owner. No two bring the same tag.
	TagRules []*Rule
	// UnitRules are the ActivateUnit manifests, sorted by the id of their unit: the order in which units by rule follow an
	// item's own ones. Units made over HTTP have no rule.
	UnitRules []*Rule

	// filters are by name, then id.
	filters tree[library.FilterPlace, *Filter]
	byUUID  tree[string, *Filter]
	byID    tree[int64, *Filter]
	units   tree[int64, *Unit]
	// parts says what each source brought to this catalogue, and which version of it.
	parts tree[Source, part]
}

func compareFilterPlaces(a, b library.FilterPlace) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

func (f *Filter) listed() library.FilterPlace {
	return library.FilterPlace{Name: f.Record.Name, ID: f.Record.ID}
}

// part is what one source brings to a catalogue; nothing but its version where that is the property itself.
type part struct {
	version version
	filter  *Filter
	unit    *Unit
	rule    *Rule
	// byDefault is true for the default unit.
	byDefault bool
}

// Filter is a served filter.
type Filter struct {
	Record library.FilterRecord
	parse  func() (library.ParsedFilter, error)
}

// Parsed returns the filter with its texts parsed, which is done when it is first asked for: of many filters few may be in
// use, and every collection of garbage goes through all that is kept. An error means that a store is read by a version
// that does not understand what an earlier one accepted.
func (f *Filter) Parsed() (library.ParsedFilter, error) {
	p, err := f.parse()
	if err != nil {
		// The cause is not wrapped: no caller's query is wrong.
		return library.ParsedFilter{}, fmt.Errorf("%w: filter %s: %s", library.ErrUnreadable, f.Record.UUID, err.Error())
	}
	p.Favourite = f.Record.Favourite
	return p, nil
}

// Unit is a served conversion unit with its JSON, as item.Slots take it.
type Unit struct {
	item.Unit
	Encoded []byte
}

// Rule is a served Tag or ActivateUnit: which items carry the tag or the unit because of it. A Rule is never changed; an
// equal rule of a later catalogue is the same pointer, until the library is opened again.
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
	f := c.byUUID.get(ref.UUID)
	if ref.UUID == "" {
		f = c.byID.get(ref.ID)
	}
	if f == nil {
		return nil, fmt.Errorf("filter %s%d of property %s: %w", ref.UUID, ref.ID, c.Property, library.ErrNotFound)
	}
	return f, nil
}

// Unit finds a unit, nil where there is none.
func (c *Catalogue) Unit(id int64) *Unit { return c.units.get(id) }

// Listing puts a Read together with the filter that it names. Errors are those of library.NewListing and ErrNotFound.
func (c *Catalogue) Listing(r library.Read) (library.Listing, error) {
	if r.Filter == nil {
		return library.NewListing(r, nil, "")
	}
	f, err := c.Filter(*r.Filter)
	if err != nil {
		return library.Listing{}, err
	}
	parsed, err := f.Parsed()
	if err != nil {
		return library.Listing{}, err
	}
	return library.NewListing(r, &parsed, f.Record.UUID)
}

// Filters lists the filters by name, then id: from offset on, at most limit (0: all), and the number of all.
func (c *Catalogue) Filters(offset, limit int) ([]library.FilterRecord, int) {
	return records(c.filters.from(max(offset, 0)), limit), c.filters.len()
}

// FiltersAfter lists at most limit (0: all) filters that come after a place, and the number of all.
func (c *Catalogue) FiltersAfter(after library.FilterPlace, limit int) ([]library.FilterRecord, int) {
	return records(c.filters.after(after), limit), c.filters.len()
}

// records collects at most limit (0: all) records of filters.
func records(filters iter.Seq2[library.FilterPlace, *Filter], limit int) []library.FilterRecord {
	found := []library.FilterRecord{}
	for _, f := range filters {
		found = append(found, f.Record)
		if len(found) == limit {
			break
		}
	}
	return found
}

// Slots makes the slots of an item that shows units, by id and in order; those that the property does not have are left
// out. The first that is not archived is the item's default, else the property's.
func (c *Catalogue) Slots(units []int64, baseURL string) item.Slots {
	slots := item.Slots{BaseURL: baseURL}
	for _, id := range units {
		u := c.units.get(id)
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
// so is what did not change within the others.
func newCatalogues(all entries, before map[library.PropertyID]*Catalogue) (map[library.PropertyID]*Catalogue, error) {
	sources := map[library.PropertyID][]Source{}
	specs := map[library.PropertyID]*library.Property{}
	for s, h := range all.of.all() {
		d := h.served()
		if d == nil || d.Token != nil {
			continue
		}
		if d.PropertySpec != nil {
			specs[d.Property] = d.PropertySpec
		}
		sources[d.Property] = append(sources[d.Property], s)
	}
	after := make(map[library.PropertyID]*Catalogue, len(specs))
	for p, spec := range specs {
		c, err := newCatalogue(p, *spec, all, sources[p], before[p])
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", p, err)
		}
		after[p] = c
	}
	return after, nil
}

// newCatalogue makes a catalogue of what sorted sources bring.
func newCatalogue(p library.PropertyID, spec library.Property, all entries, sources []Source, before *Catalogue) (*Catalogue, error) {
	if before != nil && before.parts.len() == len(sources) && !slices.ContainsFunc(sources, func(s Source) bool {
		return before.parts.get(s).version != all.get(s).version()
	}) {
		return before, nil
	}
	c := &Catalogue{
		Property: p, Spec: spec, filters: newTree[library.FilterPlace, *Filter](compareFilterPlaces), byUUID: newTree[string, *Filter](strings.Compare),
		byID: newTree[int64, *Filter](cmp.Compare[int64]), units: newTree[int64, *Unit](cmp.Compare[int64]),
	}
	parts := make([]part, len(sources))
	for i, s := range sources {
		var known part
		if before != nil {
			known = before.parts.get(s)
		}
		var err error
		if parts[i], err = c.part(all.get(s), known); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Owner, err)
		}
		c.index(parts[i])
		if u := parts[i].unit; u != nil {
			c.Units = append(c.Units, u)
		}
		if r := parts[i].rule; r != nil {
			rules, _ := c.rules(parts[i])
			*rules = append(*rules, r)
		}
	}
	c.parts = treeOf(compareSources, len(sources), func(i int) (Source, part) { return sources[i], parts[i] })
	slices.SortFunc(c.Units, compareUnits)
	slices.SortFunc(c.UnitRules, compareUnitRules)
	return c, nil
}

// followCatalogues brings the catalogues to what became of some sources. No Property is among them.
func followCatalogues(
	all, before entries, judged []Source, catalogues map[library.PropertyID]*Catalogue,
) (map[library.PropertyID]*Catalogue, error) {
	touched := map[library.PropertyID][]Source{}
	for _, s := range judged {
		was, is := before.get(s).served(), all.get(s).served()
		if was != nil {
			touched[was.Property] = append(touched[was.Property], s)
		}
		if is != nil && (was == nil || was.Property != is.Property) {
			touched[is.Property] = append(touched[is.Property], s)
		}
	}
	after, cloned := catalogues, false
	for p, sources := range touched {
		c := catalogues[p]
		if c == nil {
			continue // a token may outlive its property
		}
		next, err := c.follow(all, sources)
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", p, err)
		}
		if next == c {
			continue
		}
		if !cloned {
			after, cloned = maps.Clone(catalogues), true
		}
		after[p] = next
	}
	return after, nil
}

// follow returns the catalogue with what became of some sources; itself where that is nothing new.
func (c *Catalogue) follow(all entries, sources []Source) (*Catalogue, error) {
	next := *c
	var come []part
	same := true
	// Everything that goes goes first: what comes may have its names.
	for _, s := range sources {
		known := c.parts.get(s)
		h := all.get(s)
		v := h.version()
		if d := h.served(); d == nil || d.Property != c.Property || d.Token != nil {
			v = version{}
		}
		if known.version == v {
			continue
		}
		if same {
			same = false
			next.Units, next.TagRules, next.UnitRules = slices.Clone(c.Units), slices.Clone(c.TagRules), slices.Clone(c.UnitRules)
		}
		next.remove(known)
		next.parts = next.parts.without(s)
		if v.entry == nil {
			continue
		}
		p, err := c.part(h, known)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Owner, err)
		}
		next.parts = next.parts.with(s, p)
		come = append(come, p)
	}
	if same {
		return c, nil
	}
	for _, p := range come {
		next.index(p)
		if p.unit != nil {
			next.Units = inserted(next.Units, p.unit, compareUnits)
		}
		if p.rule != nil {
			rules, compare := next.rules(p)
			*rules = inserted(*rules, p.rule, compare)
		}
	}
	return &next, nil
}

// index makes what a part brings to be found by its names.
func (c *Catalogue) index(p part) {
	if f := p.filter; f != nil {
		c.filters = c.filters.with(f.listed(), f)
		c.byUUID = c.byUUID.with(f.Record.UUID, f)
		c.byID = c.byID.with(f.Record.ID, f)
	}
	if p.unit != nil {
		c.units = c.units.with(p.unit.ID, p.unit)
		if p.byDefault {
			c.Default = p.unit
		}
	}
}

// remove takes out what a part brought.
func (c *Catalogue) remove(p part) {
	if f := p.filter; f != nil {
		c.filters = c.filters.without(f.listed())
		c.byUUID = c.byUUID.without(f.Record.UUID)
		c.byID = c.byID.without(f.Record.ID)
	}
	if p.unit != nil {
		c.units = c.units.without(p.unit.ID)
		c.Units = removed(c.Units, p.unit, compareUnits)
		if p.byDefault {
			c.Default = nil
		}
	}
	if p.rule != nil {
		rules, compare := c.rules(p)
		*rules = removed(*rules, p.rule, compare)
	}
}

// rules is the list that the rule of a part is in, and its order.
func (c *Catalogue) rules(p part) (*[]*Rule, func(a, b *Rule) int) {
	if p.unit != nil {
		return &c.UnitRules, compareUnitRules
	}
	return &c.TagRules, compareTagRules
}

func compareUnits(a, b *Unit) int     { return cmp.Compare(a.ID, b.ID) }
func compareUnitRules(a, b *Rule) int { return cmp.Compare(a.Unit, b.Unit) }
func compareTagRules(a, b *Rule) int {
	return compareSources(Source{Owner: a.Owner}, Source{Owner: b.Owner})
}

// inserted puts one into a sorted list.
func inserted[E any](list []E, e E, compare func(a, b E) int) []E {
	at, _ := slices.BinarySearchFunc(list, e, compare)
	return slices.Insert(list, at, e)
}

// removed takes one out of a sorted list.
func removed[E any](list []E, e E, compare func(a, b E) int) []E {
	at, found := slices.BinarySearchFunc(list, e, compare)
	if !found {
		return list
	}
	return slices.Delete(list, at, at+1)
}

// part makes what a source brings. What is known of the same version is kept.
func (c *Catalogue) part(h held, known part) (part, error) {
	d := *h.served()
	p := part{version: h.version()}
	same := known.version == p.version
	var err error
	switch {
	case d.Filter != nil:
		p.filter = known.filter
		if !same || known.filter.Record.PlatformPageID != c.Spec.PlatformPageID {
			p.filter = c.newFilter(d, known.filter)
		}
	case same:
		return known, nil
	case d.Tag != nil:
		if p.rule, err = newRule(d, library.KindTag, d.Tag.Items, d.Tag.Selector); err == nil {
			p.rule.Tag = d.Tag.Tag
		}
	case d.Unit != nil:
		p.unit, p.byDefault = newUnit(d, h.Changed), d.Unit.Default
		if d.Owner.IsHTTP() {
			break
		}
		if p.rule, err = newRule(d, library.KindUnit, d.Unit.Items, d.Unit.Selector); err == nil {
			p.rule.Unit = p.unit.ID
		}
	}
	return p, err
}

// newFilter makes a filter. What is parsed of the one before, which is nil for none, is kept where the texts are the same.
func (c *Catalogue) newFilter(d library.Definition, before *Filter) *Filter {
	f := &Filter{Record: library.FilterRecord{Filter: *d.Filter, PlatformPageID: c.Spec.PlatformPageID, Owner: d.Owner}}
	if before != nil && before.Record.Query == d.Filter.Query && before.Record.Order == d.Filter.Order {
		f.parse = before.parse
	} else {
		f.parse = sync.OnceValues(func() (library.ParsedFilter, error) { return library.ParseFilter(*d.Filter) })
	}
	return f
}

// newUnit makes a unit whose definition came at a time.
func newUnit(d library.Definition, changed time.Time) *Unit {
	u := d.Unit.Unit
	u.Managed = u.Managed || !d.Owner.IsHTTP()
	if u.CreatedOn == "" && !d.Created.IsZero() {
		u.CreatedOn = d.Created.UTC().Format(time.RFC3339)
	}
	if u.LastModified == "" {
		u.LastModified = changed.UTC().Format(time.RFC3339)
	}
	return &Unit{Unit: u, Encoded: item.EncodeUnit(u)}
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
