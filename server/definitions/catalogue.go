package definitions

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Catalogue contains everything that the library serves for one property, except the items. It is immutable, so a pointer identifies one
// version. Callers must not modify its contents.
type Catalogue struct {
	// Property is the id of the property, and Spec holds its settings.
	Property library.PropertyID
	Spec     library.Property
	// Units are sorted by id. Use Unit to find one.
	Units []*Unit
	// Default is the property's default unit, or nil if there is none.
	Default *Unit
	// TagRules are the rules of Tag manifests, sorted by owner. Each rule has a different tag.
	TagRules []*Rule
	// UnitRules are the rules of ActivateUnit manifests, sorted by the id of their unit. Units that rules attach to an item follow the item's
	// own units, in this order. Units created over HTTP have no rule.
	UnitRules []*Rule

	// filters is sorted by name, then by id.
	filters tree[library.FilterPlace, *Filter]
	byUUID  tree[string, *Filter]
	byID    tree[int64, *Filter]
	units   tree[int64, *Unit]
	// parts maps each source to its contribution to this catalogue.
	parts tree[Source, part]
	// feedRules computes the result of FeedRules once, because followers ask for it often.
	feedRules func() library.FeedRules
}

func compareFilterPlaces(a, b library.FilterPlace) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

func (f *Filter) listed() library.FilterPlace {
	return library.FilterPlace{Name: f.Record.Name, ID: f.Record.ID}
}

// part is the contribution of one source to a catalogue. For the Property itself, only version is set.
type part struct {
	version version
	filter  *Filter
	unit    *Unit
	rule    *Rule
	// byDefault is true if unit is the default unit.
	byDefault bool
}

// Filter is a served filter.
type Filter struct {
	Record library.FilterRecord
	parse  func() (library.ParsedFilter, error)
}

// Parsed returns the filter with its query and order parsed. The first call parses them and keeps the result. Filters are not parsed in
// advance, because most filters are rarely used, and because every garbage collection scans all parsed queries. Parsed fails if this
// version of Vitrine cannot parse a query or order that an earlier version accepted.
func (f *Filter) Parsed() (library.ParsedFilter, error) {
	p, err := f.parse()
	if err != nil {
		return library.ParsedFilter{}, library.Unreadable("filter "+f.Record.UUID, err)
	}
	p.Favourite = f.Record.Favourite
	return p, nil
}

// Unit is a served conversion unit, with its JSON for item.Slots.
type Unit struct {
	item.Unit
	Encoded []byte
}

// Rule is the rule of a served Tag or ActivateUnit: it determines which items carry the tag or the unit. A Rule is immutable. As long as a
// rule does not change, all later catalogues contain the same pointer, until the library is closed.
type Rule struct {
	// Name identifies one version of one rule: no other rule or version has the same name. It stays the same after a restart.
	Name  string
	Owner library.Owner
	// Tag is the tag that a Tag assigns; it is zero in the rule of an ActivateUnit. Unit is the id of the unit that an ActivateUnit declares;
	// it is 0 in the rule of a Tag.
	Tag  item.Tag
	Unit int64
	// IDs are the ids that the rule lists, sorted and without duplicates. Items with these ids need not exist.
	IDs []item.ID
	// Selector is the query of the rule. It is nil if there is none, or if this version of Vitrine cannot parse the query that an earlier
	// version accepted. The rule then applies only to the items that it lists, and the rest of the property is served.
	Selector query.Node
	// Volatile is true if not only the content of an item decides whether Selector matches it. The selector may depend on the time, or on
	// other items, because a fuzzy term expands to the most similar indexed terms.
	Volatile bool
}

// Names reports whether the rule lists the id of an item.
func (r *Rule) Names(id item.ID) bool {
	_, found := slices.BinarySearch(r.IDs, id)
	return found
}

// Filter returns a filter by its UUID or id, or ErrNotFound. c may be nil.
func (c *Catalogue) Filter(ref library.FilterRef) (*Filter, error) {
	if c == nil {
		return nil, fmt.Errorf("property: %w", library.ErrNotFound)
	}
	f := c.byUUID.get(ref.UUID)
	if ref.UUID == "" {
		f = c.byID.get(ref.ID)
	}
	if f == nil {
		return nil, fmt.Errorf("filter %s of property %s: %w", cmp.Or(ref.UUID, strconv.FormatInt(ref.ID, 10)), c.Property, library.ErrNotFound)
	}
	return f, nil
}

// FeedRules returns the rules of library.Feed for the property.
func (c *Catalogue) FeedRules() library.FeedRules { return c.feedRules() }

// describeRules computes FeedRules.
func (c *Catalogue) describeRules() library.FeedRules {
	var out library.FeedRules
	sum := sha256.New()
	for _, u := range c.Units {
		fmt.Fprintf(sum, "unit %s\n", u.Encoded)
	}
	if c.Default != nil {
		fmt.Fprintf(sum, "default unit %d\n", c.Default.ID)
	}
	for _, r := range slices.Concat(c.TagRules, c.UnitRules) {
		fmt.Fprintf(sum, "rule %s\n", r.Name)
		out.Volatile = out.Volatile || r.Volatile
		out.Private = out.Private || query.UsesPrivate(r.Selector)
	}
	out.Digest = hex.EncodeToString(sum.Sum(nil)[:12])
	return out
}

// Unit returns a unit, or nil if there is none.
func (c *Catalogue) Unit(id int64) *Unit { return c.units.get(id) }

// Listing combines a Read with the filter that it names. It returns the errors of library.NewListing, or ErrNotFound.
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

// Filters lists at most limit filters (0 means all) by name, then id, starting at offset. It also returns the total number of filters.
func (c *Catalogue) Filters(offset, limit int) ([]library.FilterRecord, int) {
	return records(c.filters.from(max(offset, 0)), limit), c.filters.len()
}

// FiltersAfter lists at most limit filters (0 means all) that follow the place after, in the order of Filters. It also returns the total
// number of filters.
func (c *Catalogue) FiltersAfter(after library.FilterPlace, limit int) ([]library.FilterRecord, int) {
	return records(c.filters.after(after), limit), c.filters.len()
}

// records collects the records of the first limit filters (0 means all).
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

// Slots returns the slots of an item that has the given units, in this order. It omits units that the property does not have. The item's
// default unit is the first of its units that is not archived or, if there is none, the property's default unit.
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

// newCatalogues builds the catalogue of every served property. It reuses each catalogue in before that has not changed, and the unchanged
// parts of each catalogue that has.
func newCatalogues(all entries, before map[library.PropertyID]*Catalogue) (map[library.PropertyID]*Catalogue, error) {
	sources := map[library.PropertyID][]Source{}
	specs := map[library.PropertyID]*library.Property{}
	for s, h := range all.of.all() {
		d := h.served()
		if d == nil || d.Token != nil || d.Webhook != nil {
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

// newCatalogue builds a catalogue from sorted sources, or returns before if nothing in it has changed.
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
	c.feedRules = sync.OnceValue(c.describeRules)
	return c, nil
}

// followCatalogues updates the catalogues after the judged sources changed. No judged source is a Property.
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
			continue // a token can outlive its property
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

// follow returns the catalogue after changes of the given sources, or c itself if nothing in it changed.
func (c *Catalogue) follow(all entries, sources []Source) (*Catalogue, error) {
	next := *c
	var come []part
	same := true
	// Remove all outdated parts before adding new ones, because a new part can have the same name or id as an outdated one.
	for _, s := range sources {
		known := c.parts.get(s)
		h := all.get(s)
		v := h.version()
		if d := h.served(); d == nil || d.Property != c.Property || d.Token != nil || d.Webhook != nil {
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
	next.feedRules = sync.OnceValue(next.describeRules)
	return &next, nil
}

// index adds a part to the indexes by name, UUID and id.
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

// remove removes a part from the indexes and lists.
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

// rules returns the list that contains the rule of a part, and the sort order of that list.
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

// inserted inserts e into a sorted list.
func inserted[E any](list []E, e E, compare func(a, b E) int) []E {
	at, _ := slices.BinarySearchFunc(list, e, compare)
	return slices.Insert(list, at, e)
}

// removed removes e from a sorted list.
func removed[E any](list []E, e E, compare func(a, b E) int) []E {
	at, found := slices.BinarySearchFunc(list, e, compare)
	if !found {
		return list
	}
	return slices.Delete(list, at, at+1)
}

// part returns the contribution of a source. known is the contribution of the source to the previous catalogue. part reuses it if its
// version is the same, except for a filter whose page id has changed.
func (c *Catalogue) part(h held, known part) (part, error) {
	d := *h.served()
	p := part{version: h.version()}
	same := known.version == p.version
	var err error
	switch {
	case d.Filter != nil:
		p.filter = known.filter
		if !same || known.filter.Record.PlatformPageID != c.Spec.PlatformPageID {
			p.filter = c.newFilter(d, h.Changed, known.filter)
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

// newFilter builds a filter. If before is not nil and has the same query and order, newFilter reuses their parsed form.
func (c *Catalogue) newFilter(d library.Definition, changed time.Time, before *Filter) *Filter {
	f := &Filter{Record: library.FilterRecord{Filter: *d.Filter, PlatformPageID: c.Spec.PlatformPageID, Owner: d.Owner, Changed: changed}}
	if before != nil && before.Record.Query == d.Filter.Query && before.Record.Order == d.Filter.Order {
		f.parse = before.parse
	} else {
		f.parse = sync.OnceValues(func() (library.ParsedFilter, error) { return library.ParseFilter(*d.Filter) })
	}
	return f
}

// newUnit builds a unit from a definition that was last changed at the given time.
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

// ownerOfUnit returns the manifest that declares a unit, or the zero Owner for a unit created over HTTP.
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
		node = nil // an earlier version accepted the selector; the rule then matches only its ids
	}
	sum, err := library.Fingerprint(d)
	if err != nil {
		return nil, err
	}
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	return &Rule{
		Name: d.Owner.String() + " " + hex.EncodeToString(sum[:8]), Owner: d.Owner, IDs: slices.Compact(sorted),
		Selector: node, Volatile: node != nil && (query.UsesNow(node) || query.Expands(node)),
	}, nil
}
