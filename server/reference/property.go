package reference

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/store"
)

// property is the items of one property, served or not.
type property struct {
	id library.PropertyID
	// version is the batch that last changed anything of the property.
	version uint64
	records map[item.ID]*record
	corpus  *eval.Corpus
	// fields counts the items that have a value in each dynamic field: what a field pattern can stand for.
	fields map[string]int
	// members are the items of each rule: what manifests bring stands beside the items and is never written to them.
	members map[*store.Rule]map[item.ID]bool
	// volatile are the rules of catalogue that depend on more than the item. They are evaluated anew when the items or the
	// time changed.
	volatile []*store.Rule
	// settled is while members of volatile rules are right, and settlement counts how often they were made right.
	settled    interval
	settlement uint64
	// catalogue is what members and records were made with; nil while the property is not served.
	catalogue *store.Catalogue
}

func newProperty(id library.PropertyID) *property {
	return &property{
		id: id, records: map[item.ID]*record{}, corpus: eval.NewCorpus(),
		fields: map[string]int{}, members: map[*store.Rule]map[item.ID]bool{},
	}
}

// record is one item as it is served. It is never changed, only replaced.
type record struct {
	item    *item.Item
	encoded item.Encoded
	// tags are the item's own and those of manifests, sorted and unique.
	tags []item.Tag
	// units are the ids of the item's own units in order, then of those attached by manifests in the order of their ids;
	// unique. An own one that the property does not have is among them, and is not shown.
	units []int64
	doc   *eval.Doc
	// fields are the dynamic fields in which the item has a value.
	fields []string
	// dates are the values of all its date fields: what `now` can pass.
	dates []date
}

// value is one value of an item as it is indexed.
type value struct {
	field query.Field
	query.Value
}

// date is one value of a date field, in milliseconds since 1970.
type date struct {
	field string
	at    int64
}

// served returns the units that the property has.
func (r *record) served(c *store.Catalogue) []*store.Unit {
	units := make([]*store.Unit, 0, len(r.units))
	for _, id := range r.units {
		if u := c.Unit(id); u != nil {
			units = append(units, u)
		}
	}
	return units
}

// interval is a stretch of time, from included, to not; a zero to is open. The zero interval holds no instant.
type interval struct{ from, to time.Time }

func (i interval) contains(t time.Time) bool {
	return !i.from.IsZero() && !t.Before(i.from) && (i.to.IsZero() || t.Before(i.to))
}

// refresh works out what changed items and a changed catalogue make of a property. Nothing is changed before install.
//
// Tags by rule come first, because a unit's selector may name tags; then units; then the documents of all items that came
// out different. Only what can have changed is looked at: all rules for an item that changed, all items for a rule that
// changed.
type refresh struct {
	p         *property
	catalogue *store.Catalogue
	now       time.Time
	version   uint64
	// again has the volatile rules evaluated, for all items; else they are left to the next read (see view).
	again bool

	// changed are the new items, nil for one that went.
	changed map[item.ID]*item.Item
	// records are those that replace present ones.
	records map[item.ID]*record
	// whole is the new membership of rules that changed; moves says of the others who joined (true) and who left.
	whole map[*store.Rule]map[item.ID]bool
	moves map[*store.Rule]map[item.ID]bool
	// problems are selectors that cannot be evaluated any more.
	problems []error
}

func newRefresh(p *property, c *store.Catalogue, now time.Time) *refresh {
	return &refresh{
		p: p, catalogue: c, now: now, version: p.version,
		changed: map[item.ID]*item.Item{}, records: map[item.ID]*record{},
		whole: map[*store.Rule]map[item.ID]bool{}, moves: map[*store.Rule]map[item.ID]bool{},
	}
}

// put notes a new or changed item, or with nil one that went.
func (r *refresh) put(id item.ID, it *item.Item) { r.changed[id] = it }

// record returns a record as it will be, nil when it is not there.
func (r *refresh) record(id item.ID) *record {
	if rec, replaced := r.records[id]; replaced {
		return rec
	}
	if it, changed := r.changed[id]; changed && it == nil {
		return nil
	}
	return r.p.records[id]
}

// ids lists all items as they will be, sorted so that the outcome never depends on the order of a map.
func (r *refresh) ids() []item.ID {
	ids := make([]item.ID, 0, len(r.p.records)+len(r.changed))
	for id := range r.p.records {
		if _, changed := r.changed[id]; !changed {
			ids = append(ids, id)
		}
	}
	for id, it := range r.changed {
		if it != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// run works everything out.
func (r *refresh) run() error {
	if r.catalogue == nil {
		// Not served: items are kept, and nothing is asked of them before the property returns.
		for id, it := range r.changed {
			if it != nil {
				r.records[id] = &record{item: it}
			}
		}
		return nil
	}
	returned := r.p.catalogue == nil
	if returned {
		for id, rec := range r.p.records {
			if _, changed := r.changed[id]; !changed {
				r.changed[id] = rec.item
			}
		}
	}
	fresh := make([]*record, 0, len(r.changed))
	for id, it := range r.changed {
		if it != nil {
			rec := &record{item: it, tags: it.Tags, units: it.Units}
			r.records[id] = rec
			fresh = append(fresh, rec)
		}
	}
	each(fresh, func(rec *record) {
		rec.encoded = item.Encode(rec.item)
		r.document(rec)
	})
	retagged, err := r.tags()
	if err != nil {
		return err
	}
	attached, err := r.units(retagged)
	if err != nil {
		return err
	}
	r.redocument(attached)
	return nil
}

// tags brings the tag rules up to date and returns the items whose tags are not what they were.
func (r *refresh) tags() (map[item.ID]bool, error) {
	touched, err := r.rules(r.catalogue.TagRules, r.oldRules(func(c *store.Catalogue) []*store.Rule { return c.TagRules }), r.changedIDs())
	if err != nil {
		return nil, err
	}
	retagged := map[item.ID]bool{}
	var fresh []*record
	for id := range touched {
		rec := r.record(id)
		if rec == nil {
			continue
		}
		tags := slices.Clone(rec.item.Tags)
		for _, rule := range r.catalogue.TagRules {
			if r.isMember(rule, id) {
				tags = append(tags, rule.Tag)
			}
		}
		slices.SortFunc(tags, item.CompareTags)
		tags = slices.Compact(tags)
		if slices.Equal(tags, rec.tags) {
			continue
		}
		replacement := *rec
		replacement.tags = tags
		r.records[id] = &replacement
		retagged[id] = true
		fresh = append(fresh, &replacement)
	}
	each(fresh, r.document)
	return retagged, nil
}

// units brings the unit rules up to date, for changed items and those whose tags changed, and returns the items whose
// units are not what they were.
func (r *refresh) units(retagged map[item.ID]bool) (map[item.ID]bool, error) {
	dirty := r.changedIDs()
	for id := range retagged {
		dirty[id] = true
	}
	touched, err := r.rules(r.catalogue.UnitRules, r.oldRules(func(c *store.Catalogue) []*store.Rule { return c.UnitRules }), dirty)
	if err != nil {
		return nil, err
	}
	attached := map[item.ID]bool{}
	for id := range touched {
		rec := r.record(id)
		if rec == nil {
			continue
		}
		units := slices.Clone(rec.item.Units)
		for _, rule := range r.catalogue.UnitRules {
			if r.isMember(rule, id) && !slices.Contains(units, rule.Unit) {
				units = append(units, rule.Unit)
			}
		}
		if slices.Equal(units, rec.units) {
			continue
		}
		replacement := *rec
		replacement.units = units
		r.records[id] = &replacement
		attached[id] = true
	}
	return attached, nil
}

// redocument makes the documents anew of items whose units changed, or show a unit that changed.
func (r *refresh) redocument(attached map[item.ID]bool) {
	old := r.p.catalogue
	different := map[int64]bool{}
	newDefault := false
	if old != nil && old != r.catalogue {
		for _, u := range r.catalogue.Units {
			if before := old.Unit(u.ID); before == nil || !slices.Equal(before.Encoded, u.Encoded) {
				different[u.ID] = true
			}
		}
		for _, u := range old.Units {
			if r.catalogue.Unit(u.ID) == nil {
				different[u.ID] = true
			}
		}
		newDefault = old.Default != r.catalogue.Default &&
			(old.Default == nil || r.catalogue.Default == nil || !slices.Equal(old.Default.Encoded, r.catalogue.Default.Encoded))
	}
	if len(different) > 0 || newDefault {
		for _, id := range r.ids() {
			rec := r.record(id)
			if newDefault || slices.ContainsFunc(rec.units, func(u int64) bool { return different[u] }) {
				attached[id] = true
			}
		}
	}
	fresh := make([]*record, 0, len(attached))
	for id := range attached {
		replacement := *r.record(id)
		r.records[id] = &replacement
		fresh = append(fresh, &replacement)
	}
	each(fresh, r.document)
}

func (r *refresh) changedIDs() map[item.ID]bool {
	ids := make(map[item.ID]bool, len(r.changed))
	for id := range r.changed {
		ids[id] = true
	}
	return ids
}

func (r *refresh) oldRules(of func(*store.Catalogue) []*store.Rule) []*store.Rule {
	if r.p.catalogue == nil {
		return nil
	}
	return of(r.p.catalogue)
}

// rules brings rules up to date and returns the items whose membership in any of them may have changed. dirty are the
// items that present rules have to look at again.
func (r *refresh) rules(now, before []*store.Rule, dirty map[item.ID]bool) (touched map[item.ID]bool, err error) {
	touched = maps.Clone(dirty)
	kept := make(map[*store.Rule]bool, len(now))
	var all []item.ID
	for _, rule := range now {
		kept[rule] = true
		present, known := r.p.members[rule]
		matches, err := r.matcher(rule)
		if err != nil {
			return nil, err
		}
		if known && (!r.again || !rule.Volatile) {
			for id := range dirty {
				rec := r.record(id)
				if is := rec != nil && matches(rec); is != present[id] {
					r.move(rule, id, is)
				}
			}
			continue
		}
		if all == nil {
			all = r.ids()
		}
		members := map[item.ID]bool{}
		for _, id := range all {
			if matches(r.record(id)) {
				members[id] = true
				if !present[id] {
					touched[id] = true
				}
			}
		}
		for id := range present {
			if !members[id] {
				touched[id] = true
			}
		}
		r.whole[rule] = members
	}
	for _, rule := range before {
		if !kept[rule] {
			for id := range r.p.members[rule] {
				touched[id] = true
			}
		}
	}
	return touched, nil
}

// isMember reports whether an item will be one of the rule's.
func (r *refresh) isMember(rule *store.Rule, id item.ID) bool {
	if members, changed := r.whole[rule]; changed {
		return members[id]
	}
	if joined, moved := r.moves[rule][id]; moved {
		return joined
	}
	return r.p.members[rule][id]
}

func (r *refresh) move(rule *store.Rule, id item.ID, joined bool) {
	if r.moves[rule] == nil {
		r.moves[rule] = map[item.ID]bool{}
	}
	r.moves[rule][id] = joined
}

// matcher returns what decides whether a record belongs to a rule. A selector that was sound when it came can pass a
// limit of the language later, because a field pattern in it stands for more fields by then; it matches nothing from then
// on, and must not keep anybody from writing or reading.
func (r *refresh) matcher(rule *store.Rule) (func(*record) bool, error) {
	byID := func(rec *record) bool { return rule.Names(rec.item.ID) }
	if rule.Selector == nil || rule.Volatile && !r.again {
		// The selector of a volatile rule is looked at before the next read, for all items at once.
		return byID, nil
	}
	pl, err := plan.Build(rule.Selector, plan.Options{Audience: query.Private, Now: r.now, Fields: r.fields()})
	if err != nil {
		r.problems = append(r.problems, fmt.Errorf("selector of %s: %w", rule.Owner, err))
		return byID, nil
	}
	m, err := r.p.corpus.Compile(context.Background(), pl.Root, eval.Options{Unscored: true})
	if err != nil {
		return nil, fmt.Errorf("selector of %s: %w", rule.Owner, err)
	}
	return func(rec *record) bool {
		_, ok := m.Match(rec.doc)
		return ok || byID(rec)
	}, nil
}

// document makes the document of a record from its item, tags and units.
func (r *refresh) document(rec *record) {
	shown := rec.served(r.catalogue)
	units := make([]item.Unit, len(shown))
	for i, u := range shown {
		units[i] = u.Unit
	}
	var byDefault *item.Unit
	if r.catalogue.Default != nil {
		byDefault = &r.catalogue.Default.Unit
	}
	rec.dates = nil
	created := int64(math.MinInt64) // an item without a date is older than any with one
	values := make([]value, 0, 64)
	for f, v := range rec.item.Values(units, byDefault, rec.tags) {
		values = append(values, value{f, v})
		if f.Type == query.Date {
			rec.dates = append(rec.dates, date{field: f.Name, at: v.Int})
			if f.Name == query.CreatedOn {
				created = v.Int
			}
		}
	}
	rec.doc = eval.NewDoc(rec.item.ID, created, func(yield func(query.Field, query.Value) bool) {
		for _, v := range values {
			if !yield(v.field, v.Value) {
				return
			}
		}
	})
	rec.fields = nil
	for name := range rec.doc.Names() {
		if query.Dynamic(name) {
			rec.fields = append(rec.fields, name)
		}
	}
}

// fields lists the dynamic fields that will be there.
func (r *refresh) fields() []string {
	names := map[string]bool{}
	for name := range r.p.fields {
		names[name] = true
	}
	for _, rec := range r.records {
		for _, name := range rec.fields {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// install makes the outcome visible. The caller holds the lock of all readers, or is alone.
func (r *refresh) install() {
	p := r.p
	p.version = r.version
	for id, it := range r.changed {
		if it == nil {
			p.replace(id, nil)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.records)) {
		p.replace(id, r.records[id])
	}
	kept := map[*store.Rule]bool{}
	p.volatile = nil
	if r.catalogue != nil {
		for _, rule := range slices.Concat(r.catalogue.TagRules, r.catalogue.UnitRules) {
			kept[rule] = true
			if rule.Volatile {
				p.volatile = append(p.volatile, rule)
			}
		}
	}
	maps.DeleteFunc(p.members, func(rule *store.Rule, _ map[item.ID]bool) bool { return !kept[rule] })
	maps.Copy(p.members, r.whole)
	for rule, moves := range r.moves {
		for id, joined := range moves {
			if joined {
				p.members[rule][id] = true
			} else {
				delete(p.members[rule], id)
			}
		}
	}
	p.catalogue = r.catalogue
	p.settled = interval{}
}

// replace puts a record in the place of the present one; nil takes it away.
func (p *property) replace(id item.ID, rec *record) {
	if old := p.records[id]; old != nil {
		p.corpus.Remove(id)
		for _, name := range old.fields {
			if p.fields[name]--; p.fields[name] == 0 {
				delete(p.fields, name)
			}
		}
	}
	if rec == nil {
		delete(p.records, id)
		return
	}
	p.records[id] = rec
	if rec.doc != nil {
		p.corpus.Put(rec.doc)
	}
	for _, name := range rec.fields {
		p.fields[name]++
	}
}
