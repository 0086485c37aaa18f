package reference

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/store"
)

// view is the state of one property at one instant. It is immutable.
type view struct {
	// version is the number of the batch that last changed the property.
	version   uint64
	now       time.Time
	catalogue *definitions.Catalogue
	records   map[item.ID]*record
	// members contains the ids of the items that each rule selects.
	members map[*definitions.Rule]map[item.ID]bool
	corpus  *eval.Corpus
	// fields are the dynamic fields in which at least one item has a value. Field patterns expand to these fields.
	fields []string
	// volatile is true if the view has a volatile rule (see definitions.Rule).
	volatile bool
	// until is the time at which the members of a rule may change without a write. Zero means never.
	until time.Time
}

// record is one item with its tags and units, as it is served.
type record struct {
	item *item.Item
	// tags are the item's own tags and those from manifests, sorted, without duplicates.
	tags []item.Tag
	// units are the ids of the item's own units, in their order, followed by the units that manifests attach, in the order of ids, without
	// duplicates. They include own units that the property does not have, which responses do not show.
	units []int64
	doc   *eval.Doc
}

// newView computes the view of a served property. The caller must hold the store (see store.Store.Hold).
func newView(s *store.Store, id library.PropertyID, now time.Time, log *slog.Logger) (*view, error) {
	v := &view{
		version: s.PropertyVersion(id), now: now, catalogue: s.Catalogue(id),
		records: map[item.ID]*record{}, members: map[*definitions.Rule]map[item.ID]bool{},
	}
	for it, err := range s.Items(context.Background(), id) {
		if err != nil {
			return nil, err
		}
		v.records[it.ID] = &record{item: it, tags: slices.Clone(it.Tags), units: slices.Clone(it.Units)}
	}
	// Apply the rules for tags first, because the selector of a unit may use tags that these rules add.
	v.index()
	for _, r := range v.catalogue.TagRules {
		if err := v.apply(r, log, func(rec *record) { rec.tags = append(rec.tags, r.Tag) }); err != nil {
			return nil, err
		}
	}
	for _, rec := range v.records {
		slices.SortFunc(rec.tags, item.CompareTags)
		rec.tags = slices.Compact(rec.tags)
	}
	v.index()
	for _, r := range v.catalogue.UnitRules {
		attach := func(rec *record) {
			if !slices.Contains(rec.units, r.Unit) {
				rec.units = append(rec.units, r.Unit)
			}
		}
		if err := v.apply(r, log, attach); err != nil {
			return nil, err
		}
	}
	v.index()
	for r := range v.members {
		if !r.Volatile {
			continue
		}
		v.volatile = true
		// Ignore an error: a selector that cannot be evaluated matches nothing at any time.
		if until, err := v.boundary(library.Part{Query: r.Selector, Audience: query.Private}); err == nil {
			v.until = earlier(v.until, until)
		}
	}
	return v, nil
}

// index rebuilds the corpus and the documents of all items from their current tags and units.
func (v *view) index() {
	v.corpus = eval.NewCorpus()
	fields := map[string]bool{}
	for _, rec := range v.records {
		rec.doc = eval.NewItemDoc(rec.item, v.units(rec.units), v.defaultUnit(), rec.tags)
		v.corpus.Put(rec.doc)
		for name := range rec.doc.Names() {
			if query.Dynamic(name) {
				fields[name] = true
			}
		}
	}
	v.fields = slices.Sorted(maps.Keys(fields))
}

// units returns the units with the given ids that the property has.
func (v *view) units(ids []int64) []item.Unit {
	var units []item.Unit
	for _, id := range ids {
		if u := v.catalogue.Unit(id); u != nil {
			units = append(units, u.Unit)
		}
	}
	return units
}

func (v *view) defaultUnit() *item.Unit {
	if v.catalogue.Default == nil {
		return nil
	}
	return &v.catalogue.Default.Unit
}

// apply finds the items that a rule selects, and calls give for each. A selector that was valid when it was stored can later exceed a limit
// of the query language, because a field pattern in it expands to more fields. From then on, the selector matches nothing.
func (v *view) apply(r *definitions.Rule, log *slog.Logger, give func(*record)) error {
	selected := func(*eval.Doc) bool { return false }
	if r.Selector != nil {
		root, err := v.plan(library.Part{Query: r.Selector, Audience: query.Private}, v.now)
		if err != nil {
			log.Warn("a selector cannot be evaluated, so its rule applies to no items", slog.String("rule", r.Owner.String()), slog.Any("error", err))
			root = plan.None{}
		}
		m, err := v.corpus.Compile(context.Background(), root)
		if err != nil {
			return fmt.Errorf("selector of %s: %w", r.Owner, err)
		}
		selected = func(d *eval.Doc) bool {
			_, ok := m.Match(d)
			return ok
		}
	}
	v.members[r] = map[item.ID]bool{}
	for id, rec := range v.records {
		if r.Names(id) || selected(rec.doc) {
			v.members[r][id] = true
			give(rec)
		}
	}
	return nil
}

// plan returns the plan of one part of a listing at a given time.
func (v *view) plan(part library.Part, now time.Time) (plan.Node, error) {
	pl, err := plan.Build(part.Query, plan.Options{Audience: part.Audience, Now: now, Fields: v.fields})
	if err != nil {
		return nil, err
	}
	return pl.Root, nil
}

// boundary returns the first instant after now at which one of the queries may match different items (see plan.Boundary). Zero means never.
func (v *view) boundary(parts ...library.Part) (time.Time, error) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p library.Part) bool { return !query.UsesNow(p.Query) })
	if len(parts) == 0 {
		return time.Time{}, nil
	}
	roots := func(t time.Time) (roots []plan.Node, err error) {
		roots = make([]plan.Node, len(parts))
		for i, part := range parts {
			if roots[i], err = v.plan(part, t); err != nil {
				return nil, err
			}
		}
		return roots, nil
	}
	return plan.Boundary(v.now, roots, v.endsAhead)
}

// endsAhead returns the next date that will leave a moving range and the next date that will enter it (see plan.Ends).
func (v *view) endsAhead(r plan.IntRange) (plan.Ends, error) {
	var e plan.Ends
	for _, rec := range v.records {
		for _, date := range rec.doc.Numbers(r.Field.Name) {
			if date >= r.Lo && (!e.Leave || date < e.Leaving) {
				e.Leave, e.Leaving = true, date
			}
			if date > r.Hi && (!e.Enter || date < e.Entering) {
				e.Enter, e.Entering = true, date
			}
		}
	}
	return e, nil
}

// earlier returns the earlier of two times. A zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
