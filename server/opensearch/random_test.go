package opensearch

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

var (
	randomSeed  = flag.Uint64("random.seed", 0, "the seed of the random operations (0: from the time)")
	randomSteps = flag.Int("random.steps", 60, "how many random operations are done")
)

// TestRandomOperations applies the same random operations to the engine and to the library on OpenSearch. It compares the outcomes and
// the results.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-random.seed=%d", seed)
	r := &randomly{Rand: rand.New(rand.NewPCG(seed, 1)), agreed: newAgreed(t, func(dir string, clock func() time.Time) (library.Library, error) {
		return engine.Open(engine.Options{Dir: dir, Clock: clock})
	})}
	for r.step = range *randomSteps {
		if t.Failed() {
			return
		}
		switch n := r.IntN(10); {
		case n < 5:
			r.write()
		case n < 8:
			r.define()
		default:
			r.clock.Advance(time.Duration(r.Int64N(int64(60 * time.Hour))))
		}
		r.look()
	}
}

// randomly is a generator of random operations.
type randomly struct {
	*rand.Rand
	*agreed
	step, codes int
}

// agree calls `do` with each library and compares the results.
func (r *randomly) agree(what string, do func(library.Library) []any) {
	r.t.Helper()
	both := r.both()
	want, got := do(both[0]), do(both[1])
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Fatalf("step %d: %s (-engine +cluster):\n%s", r.step, what, diff)
	}
}

// id returns a random item id. In most cases, the item exists.
func (r *randomly) id() item.ID { return 1 + r.Int64N(60) }

func (r *randomly) tag() *item.Tag {
	return &item.Tag{Namespace: []string{"marketer_tags", "vibe"}[r.IntN(2)], Key: []string{"summer", "hero", "bold"}[r.IntN(3)]}
}

// put returns a mutation that stores a random item of agreedItems, either as a new item or with a random id.
func (r *randomly) put() library.Mutation {
	lines := agreedItems()
	parsed, err := item.ParseLine([]byte(lines[r.IntN(len(lines))]), item.ParseOptions{Now: noon})
	if err != nil {
		r.t.Fatal(err)
	}
	r.codes++
	it := parsed.Item
	it.ID, it.ShortCode = 0, fmt.Sprintf("random%d", r.codes)
	it.CreatedOn = r.clock.Now().Add(-time.Duration(r.Int64N(int64(200 * time.Hour)))).Format(time.RFC3339)
	m := library.Mutation{Put: it, Units: parsed.Units}
	if r.IntN(2) == 0 {
		it.ID, m.Replace = r.id(), r.IntN(4) > 0
	}
	return m
}

// write applies random mutations.
func (r *randomly) write() {
	var muts []library.Mutation
	for range 1 + r.IntN(6) {
		var m library.Mutation
		switch r.IntN(6) {
		case 0, 1:
			m = r.put()
		case 2:
			m.Delete, m.ID = true, r.id()
		case 3:
			bodies := []string{`{"approval_status":"rej"}`, `{"featured":true}`, `{"campaign":3}`, `{"content":{"text":"city beach"}}`, `{"submission":{"note":"yes"}}`, `{"activate_units":[950]}`}
			patch, err := item.ParsePatch([]byte(bodies[r.IntN(len(bodies))]))
			if err != nil {
				r.t.Fatal(err)
			}
			m.Patch, m.ID = patch, r.id()
		case 4:
			m.Tag, m.IDs = r.tag(), []item.ID{r.id(), r.id()}
		default:
			m.Untag, m.IDs = r.tag(), []item.ID{r.id()}
		}
		muts = append(muts, m)
	}
	r.agree("write", func(l library.Library) []any {
		outcomes, err := l.Write(r.t.Context(), shop, muts)
		out := []any{fmt.Sprint(err)}
		for _, o := range outcomes {
			out = append(out, o.ID, o.Created, fmt.Sprint(o.Err))
		}
		return out
	})
}

// define applies or removes a random rule. It applies the rule either unchanged or for other items.
func (r *randomly) define() {
	rules := slices.DeleteFunc(agreedDefinitions(), func(d library.Definition) bool { return d.PropertySpec != nil })
	d := rules[r.IntN(len(rules))]
	if r.IntN(4) == 0 {
		r.agree("remove", func(l library.Library) []any {
			n, err := l.Remove(r.t.Context(), []library.Owner{d.Owner})
			return []any{n, fmt.Sprint(err)}
		})
		return
	}
	ids := []item.ID{r.id(), r.id()}
	switch {
	case r.IntN(3) == 0:
	case d.Tag != nil:
		d.Tag.Items = ids
	default:
		d.Unit.Items, d.Unit.Unit.Archived = ids, r.IntN(3) == 0
	}
	r.agree("apply", func(l library.Library) []any {
		results, err := l.Apply(r.t.Context(), []library.Definition{d})
		return []any{results[0].Changed, results[0].MissingItems, fmt.Sprint(results[0].MissingFirst), fmt.Sprint(results[0].Err), fmt.Sprint(err)}
	})
}

// look compares listings, an item with its tags, and an export. It ignores scores, because the cluster includes deleted items in its
// statistics.
func (r *randomly) look() {
	orders := []string{"created_on:desc", "id:asc", "campaign:desc,approval_status:asc", "submission.email:asc", "random", "default_activate_unit.id:asc", "featured:desc", "last_modified:desc"}
	for range 3 {
		queries := slices.Concat(agreedQueries, unitQueries)
		r.seed = fmt.Sprint(r.IntN(3))
		r.compare(queries[r.IntN(len(queries))], orders[r.IntN(len(orders))], query.Private)
	}
	fields := []string{"tags", "tags.marketer_tags", "approval_status", "campaign", "featured", "activate_units.id", "default_activate_unit.id", "submission.note"}
	r.facets(agreedQueries[r.IntN(len(agreedQueries))], library.Facet{Field: fields[r.IntN(len(fields))], Limit: r.IntN(5)})
	id := r.id()
	r.agree(fmt.Sprintf("item %d", id), func(l library.Library) []any {
		tags, err := l.ItemTags(r.t.Context(), shop, id)
		line, readErr := l.ReadItem(r.t.Context(), library.ItemRead{Property: shop, ID: id})
		return []any{fmt.Sprint(tags), fmt.Sprint(err), string(line), fmt.Sprint(readErr)}
	})
	r.agree("export", func(l library.Library) (out []any) {
		for line, err := range l.Export(r.t.Context(), shop, nil) {
			out = append(out, string(line), fmt.Sprint(err))
		}
		return out
	})
}
