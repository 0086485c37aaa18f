package opensearch

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/translate"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// object is a JSON object of a request.
type object = map[string]any

// conn is what reads need: the connection to the cluster, and what earlier reads have left behind.
type conn struct {
	options   Options
	names     schema.Names
	cluster   *cluster.Client
	indices   *indices.Indices
	selectors selectors
	shown     *shownItems
	documents documents
}

// documents keeps the tags and units of each property as documents, because a property can have many of them.
type documents struct {
	mu sync.Mutex
	of map[library.PropertyID]*translate.Documents
}

func (d *documents) get(c *definitions.Catalogue) *translate.Documents {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.of[c.Property]
	if known == nil || known.Catalogue != c {
		known = translate.NewDocuments(c, known)
		if d.of == nil {
			d.of = map[library.PropertyID]*translate.Documents{}
		}
		d.of[c.Property] = known
	}
	return known
}

func (d *documents) forget(p library.PropertyID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, p)
}

// view holds the data that one read uses: one state of a property's definitions, and one time. Only one goroutine uses a view.
type view struct {
	*conn
	catalogue *definitions.Catalogue
	now       time.Time
	queries   *translate.Translator

	// snapshot is the id of the point in time that searches read. It is empty for searches of the live index.
	snapshot string

	fields []string // the result of dynamicFields; nil until the first call
	plans  map[*definitions.Rule]plan.Node
}

func newView(c *conn, catalogue *definitions.Catalogue, now time.Time) *view {
	v := &view{conn: c, catalogue: catalogue, now: now, plans: map[*definitions.Rule]plan.Node{}}
	v.queries = &translate.Translator{Documents: c.documents.get(catalogue), FirstSchema: c.indices.First.Load(), Selector: v.selector, Warn: v.warn}
	return v
}

// index returns the alias of the property's items.
func (v *view) index() string { return v.names.Items(v.catalogue.Property) }

// search runs a search of the property's items.
func (v *view) search(ctx context.Context, body object, out cluster.Answer) error {
	path := "/" + v.index() + cluster.ItemsPath
	if v.snapshot != "" {
		path, body["pit"] = cluster.ItemsPath, object{"id": v.snapshot, "keep_alive": snapshotTime}
	}
	if err := v.cluster.Do(ctx, http.MethodPost, path, body, out); err != nil {
		if limit := cluster.TooLarge(err); limit != nil {
			return limit
		}
		return fmt.Errorf("search property %s: %w", v.catalogue.Property, err)
	}
	return nil
}

// snapshotTime is the time for which the cluster keeps a snapshot that is not released.
const snapshotTime = "30s"

// freeze makes later searches of the view read the same state of the index until the caller calls release.
func (v *view) freeze(ctx context.Context) (release func(), err error) {
	var made snapshot
	path := "/" + v.index() + "/_search/point_in_time?keep_alive=" + snapshotTime
	if err := v.cluster.Do(ctx, http.MethodPost, path, nil, &made); err != nil {
		return nil, fmt.Errorf("search property %s: %w", v.catalogue.Property, err)
	}
	v.snapshot = made.ID
	return func() {
		v.snapshot = ""
		// If the snapshot cannot be released, it expires.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cluster.ReleaseTimeout)
		defer cancel()
		_ = v.cluster.Do(ctx, http.MethodDelete, "/_search/point_in_time", object{"pit_id": []string{made.ID}}, nil)
	}, nil
}

// snapshot is the response to a request for a point in time.
type snapshot struct {
	cluster.OnShards
	ID string `json:"pit_id"`
}

func (a *snapshot) Lacks() string {
	return cmp.Or(a.OnShards.Lacks(), cluster.Lacking(a.ID != "", "pit_id"))
}

// plan returns the plan of a part of a listing at a time.
func (v *view) plan(ctx context.Context, part library.Part, at time.Time) (plan.Node, error) {
	o := plan.Options{Audience: part.Audience, Now: at}
	if namesFields(part.Query) {
		var err error
		if o.Fields, err = v.dynamicFields(ctx); err != nil {
			return nil, err
		}
	}
	p, err := plan.Build(part.Query, o)
	if err != nil {
		return nil, err
	}
	return p.Root, nil
}

// namesFields reports whether the plan of a query may depend on which dynamic fields exist.
func namesFields(n query.Node) bool {
	return slices.ContainsFunc(query.Names(n), func(name query.FieldName) bool {
		_, object := query.Object(name.Name)
		return name.Pattern || object
	})
}

// dynamicFields returns the sorted names of the dynamic fields in which an item has a value, either its own or from a manifest.
func (v *view) dynamicFields(ctx context.Context) ([]string, error) {
	if v.fields != nil {
		return v.fields, nil
	}
	var answer fieldNames
	err := v.search(ctx, object{"size": 0, "track_total_hits": false, "aggs": object{"fields": object{"terms": object{
		"field": schema.FieldPresent, "include": `(content\.platform_ref:|tags\.|submission\.).*`, "size": fieldsAtMost,
	}}}}, &answer)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, b := range answer.Aggregations.Fields.Buckets {
		names[b.Key] = true
	}
	for _, r := range v.catalogue.TagRules {
		names[query.TagFieldName(r.Tag.Namespace)] = true
	}
	v.fields = slices.Sorted(maps.Keys(names))
	return v.fields, nil
}

// fieldNames is the response to a search for the names of fields.
type fieldNames struct {
	cluster.Searched
	Aggregations struct {
		Fields struct {
			Buckets []struct {
				Key string `json:"key"`
			} `json:"buckets"`
		} `json:"fields"`
	} `json:"aggregations"`
}

func (a *fieldNames) Lacks() string {
	return cmp.Or(a.Searched.Lacks(), cluster.Lacking(a.Aggregations.Fields.Buckets != nil, "aggregations"))
}

// fieldsAtMost is greater than the number of dynamic fields of any property. item.MaxFieldNames does not limit the fields for references
// to platforms, but there are only a few platforms.
const fieldsAtMost = item.MaxFieldNames + 10_000

// selector returns the plan of a rule's selector, or nil if the rule has no selector. A selector that was valid when it was applied can
// later exceed a limit, because a field pattern in it expands to more fields. Such a selector matches no item, and selector returns nil. It
// also returns nil if OpenSearch refuses the selector.
func (v *view) selector(ctx context.Context, r *definitions.Rule) (plan.Node, error) {
	if r.Selector == nil || v.selectors.refused(r) {
		return nil, nil
	}
	if n, known := v.plans[r]; known {
		return n, nil
	}
	n, err := v.plan(ctx, library.Part{Query: r.Selector, Audience: query.Private}, v.now)
	if err != nil && !translate.IsAboutQuery(err) {
		return nil, err
	}
	if err != nil {
		v.warn(r, err)
	}
	v.plans[r] = n
	return n, nil
}

// root returns the plan of a listing. The plan matches the items that match all parts of the listing.
func (v *view) root(ctx context.Context, listing library.Listing) (plan.Node, error) {
	return eval.Root(listing.Parts, func(part library.Part) (plan.Node, error) { return v.plan(ctx, part, v.now) })
}

// warn logs that a selector matches no item.
func (v *view) warn(r *definitions.Rule, err error) {
	v.options.Logger.Warn("a selector cannot be evaluated, so its rule applies only to the items that it lists",
		slog.String("rule", r.Owner.String()), slog.Any("error", err))
}
