package opensearch

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/translate"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// Facets counts the values of a field among the items that match r. See library.Library.
func (l *Library) Facets(ctx context.Context, r library.Read, f library.Facet) (*library.Facets, error) {
	counter, field, err := library.NewFacetCounter(f, r.Audience)
	if err != nil {
		return nil, err
	}
	return withListing(ctx, l, r, func(ctx context.Context, v *view, listing library.Listing) (*library.Facets, error) {
		return v.facets(ctx, listing, field, counter)
	})
}

func (v *view) facets(ctx context.Context, listing library.Listing, field query.Field, counter *library.FacetCounter) (*library.Facets, error) {
	root, err := v.root(ctx, listing)
	if err != nil {
		return nil, err
	}
	matching, err := v.queries.Query(ctx, root)
	if err != nil {
		return nil, err
	}
	c := &counting{view: v, field: field, counter: counter, matching: translate.AllOf(matching)}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	result, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	for value, n := range result.counts {
		counter.Add(value, n)
	}
	found := counter.Facets(result.total)
	found.Expires, err = v.expires(ctx, listing)
	return found, err
}

// counting counts the values of one field.
//
//   - A terms aggregation counts the values that items have themselves. The counts are exact, because an index has one shard. However,
//     if the node searches the shard in concurrent slices, a slice can leave out terms. The response shows whether this happened.
//   - No document contains the values that manifests add. For each of these values, a query counts its items.
type counting struct {
	*view
	field    query.Field
	counter  *library.FacetCounter
	matching object
	// byQuery contains all values that are counted by query. values contains the wanted values among them, with their queries.
	values  []valueQuery
	byQuery map[string]bool
}

// valueQuery is a value and the query that finds the items with this value.
type valueQuery struct {
	value string
	query object
}

// counted is what run has counted: the number of all matching items (total), and the number of items with each value (counts). counts
// contains at least the most frequent values.
type counted struct {
	total  int64
	counts map[string]int64
}

// prepare finds the values that are counted by query.
func (c *counting) prepare(ctx context.Context) error {
	c.byQuery = map[string]bool{}
	switch schema.KindOf(c.field.Name) {
	case schema.OfUnits, schema.OfDefault:
		for d := range c.queries.Units().Docs() {
			for value := range d.Counted(c.field) {
				c.byQuery[value] = true
			}
		}
	case schema.OfTags, schema.OfItem:
		for _, r := range c.catalogue.TagRules {
			keyword := query.Fold(r.Tag.Key)
			switch c.field.Name {
			case query.AllTags:
				c.byQuery[r.Tag.Namespace+":"+keyword] = true
			case query.TagFieldName(r.Tag.Namespace):
				c.byQuery[keyword] = true
			}
		}
	}
	for _, value := range slices.Sorted(maps.Keys(c.byQuery)) {
		if !c.counter.Wants(value) {
			continue
		}
		n, err := c.view.plan(ctx, library.Part{Query: query.ValueTerm(c.field, value), Audience: query.Private}, c.now)
		if err != nil {
			return err
		}
		found, err := c.queries.Query(ctx, n)
		if err != nil {
			return err
		}
		c.values = append(c.values, valueQuery{value, found})
	}
	return nil
}

const (
	// queriesAtOnce is the maximum number of values that one search counts by query.
	queriesAtOnce = 500
	// leastTerms is the minimum number of terms that one search requests. If a field has few values, this minimum ensures that the slices of
	// a shard leave out no term. mostTerms is the maximum. OpenSearch allows 65,535 buckets by default.
	leastTerms = 100
	mostTerms  = 50_000
	// termsPerPage is the number of terms in each page when the terms of a field are read page by page.
	termsPerPage = 10_000
	// longestRegexp is the maximum length in bytes of a regular expression in an aggregation. OpenSearch allows 1,000 characters by
	// default.
	longestRegexp = 900
)

// run counts the values, in a single search if possible.
func (c *counting) run(ctx context.Context) (*counted, error) {
	if len(c.values) <= queriesAtOnce {
		size := max(leastTerms, c.counter.Limit()+len(c.values)+1)
		for _, terms := range []object{{"size": size}, {"size": size, "shard_size": mostTerms}, {"size": mostTerms}} {
			found, complete, err := c.once(ctx, terms)
			if err != nil || complete {
				return found, err
			}
		}
	}
	release, err := c.freeze(ctx) // all searches must read the same state
	if err != nil {
		return nil, err
	}
	defer release()
	found := &counted{counts: map[string]int64{}}
	if c.hasOwnValues() {
		if err := c.pages(ctx, found); err != nil {
			return nil, err
		}
	}
	for chunk := range slices.Chunk(c.values, queriesAtOnce) {
		if _, err := c.request(ctx, found, chunk, object{}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// facetsAnswer is the response to a search of counting. queries is the number of queries whose matches are counted, and wanted contains the
// other aggregations.
type facetsAnswer struct {
	cluster.CountedOf[struct{}]
	queries      int
	wanted       object
	Aggregations aggregations `json:"aggregations"`
}

func (a *facetsAnswer) Lacks() string {
	of, wanted := &a.Aggregations, a.wanted
	if _, ok := wanted["within"]; ok {
		wanted, _ = wanted["within"].(object)["aggs"].(object)
	}
	there := len(of.Queries.Buckets) == a.queries
	for name := range wanted {
		there = there && of.answered().has(name)
	}
	return cmp.Or(a.CountedOf.Lacks(), cluster.Lacking(there, "aggregations"))
}

// aggregations contains the results of the aggregations in a search.
type aggregations struct {
	Queries struct {
		Buckets []bucket `json:"buckets"`
	} `json:"queries"`
	ownValues
	// Within contains the values that items have themselves, if the request filters the items.
	Within *ownValues `json:"within"`
}

// ownValues contains the results of the aggregations for the values that items have themselves. FirstTerms and FirstPage are those for an
// index with the first schema (see translate.Translator.Indexed).
type ownValues struct {
	Terms      *termsOf `json:"terms"`
	FirstTerms *termsOf `json:"terms1"`
	Page       *pageOf  `json:"page"`
	FirstPage  *pageOf  `json:"page1"`
}

type termsOf struct {
	// Error is 0 if the counts are exact. It can be 0 even if the node searched the shard in concurrent slices.
	Error   int64    `json:"doc_count_error_upper_bound"`
	Buckets []bucket `json:"buckets"`
}

type pageOf struct {
	After   map[string]any `json:"after_key"`
	Buckets []struct {
		Key   map[string]any `json:"key"`
		Count int64          `json:"doc_count"`
	} `json:"buckets"`
}

// has reports whether the values contain the result of the aggregation with this name.
func (o *ownValues) has(name string) bool {
	switch name {
	case "terms":
		return o.Terms != nil
	case "terms1":
		return o.FirstTerms != nil
	case "page":
		return o.Page != nil
	case "page1":
		return o.FirstPage != nil
	}
	return true
}

// answered returns the values of the part of the response that answers the request.
func (a *aggregations) answered() *ownValues {
	if a.Within != nil {
		return a.Within
	}
	return &a.ownValues
}

// own returns the values that items have themselves.
func (a *aggregations) own() *ownValues {
	own := *a.answered()
	if own.FirstTerms != nil && len(own.FirstTerms.Buckets) > 0 {
		own.Terms = own.FirstTerms
	}
	if own.FirstPage != nil && len(own.FirstPage.Buckets) > 0 {
		own.Page = own.FirstPage
	}
	return &own
}

// bucket is a term (a text or a number) and the number of items that have the term.
type bucket struct {
	Key   any   `json:"key"`
	Count int64 `json:"doc_count"`
}

// request counts the items that the given queries match, and runs the aggregations aggs. It adds the counts of the queries and the total
// to found.
func (c *counting) request(ctx context.Context, found *counted, queries []valueQuery, aggs object) (*aggregations, error) {
	if len(queries) > 0 {
		filters := make([]object, len(queries))
		for i, q := range queries {
			filters[i] = q.query
		}
		aggs["queries"] = object{"filters": object{"filters": filters}}
	}
	answer := facetsAnswer{queries: len(queries), wanted: aggs}
	body := object{"query": c.matching, "size": 0, "track_total_hits": true, "aggs": aggs}
	if err := c.view.search(ctx, body, &answer); err != nil {
		return nil, err
	}
	found.total = answer.Hits.Total.Value
	for i, b := range answer.Aggregations.Queries.Buckets {
		found.counts[queries[i].value] = b.Count
	}
	return &answer.Aggregations, nil
}

// hasOwnValues reports whether the documents of items contain values of the field.
func (c *counting) hasOwnValues() bool {
	k := schema.KindOf(c.field.Name)
	return k != schema.OfUnits && k != schema.OfDefault
}

// ownAggregation returns an aggregation for the values that items have themselves. The function of returns the aggregation for a field of
// the index. ownAggregation adds a filter only if necessary, because the node needs up to three times as long with a filter.
func (c *counting) ownAggregation(name string, of func(field string) object) object {
	aggs := object{}
	for i, field := range c.inIndex() {
		aggs[name+strings.Repeat("1", i)] = of(field)
	}
	within := c.within()
	if within == nil {
		return aggs
	}
	return object{"within": object{"filter": within, "aggs": aggs}}
}

// once counts the values in a single search. The parameter terms contains the size of the terms aggregation, and once adds the other
// members. It returns true only if the result is complete, that is, if no other value can be among the most frequent values.
func (c *counting) once(ctx context.Context, terms object) (*counted, bool, error) {
	found := &counted{counts: map[string]int64{}}
	aggs := object{}
	list, pattern := c.include()
	own := c.hasOwnValues() && (list == nil || len(list) > 0)
	if own {
		terms["order"] = []any{object{"_count": "desc"}, object{"_key": "asc"}}
		switch {
		case len(pattern) > longestRegexp:
			return nil, false, nil
		case pattern != "":
			terms["include"] = pattern
		case list != nil:
			terms["include"] = list
		}
		aggs = c.ownAggregation("terms", func(field string) object {
			of := maps.Clone(terms)
			of["field"] = field
			return object{"terms": of}
		})
	}
	response, err := c.request(ctx, found, c.values, aggs)
	if err != nil || !own {
		return found, true, err
	}
	buckets, size, limit := response.own().Terms.Buckets, terms["size"].(int), c.counter.Limit()
	var usable []int64
	for _, b := range buckets {
		if c.add(found, b.Key, b.Count) {
			usable = append(usable, b.Count)
		}
	}
	switch {
	case limit == 0:
		return found, true, nil
	case response.own().Terms.Error > 0:
		return nil, false, nil
	case len(buckets) < size:
		return found, true, nil
	case len(usable) < limit:
		return nil, false, nil
	}
	// Terms with equal counts are in the order of their values, unless they belong to different namespaces.
	return found, c.field.Name != query.AllTags || buckets[size-1].Count < usable[limit-1], nil
}

// pages counts all values that items have themselves, page by page in the order of the terms.
func (c *counting) pages(ctx context.Context, found *counted) error {
	var after any
	if name := c.dynamic(); name != "" {
		after = object{"term": name} // this text comes before all terms of the field
	}
	page := func(field string) object {
		of := object{"size": termsPerPage, "sources": []any{object{"term": object{"terms": object{"field": field}}}}}
		if after != nil {
			of["after"] = after
		}
		return object{"composite": of}
	}
	for {
		response, err := c.request(ctx, found, nil, c.ownAggregation("page", page))
		if err != nil {
			return err
		}
		read := response.own().Page
		for _, b := range read.Buckets {
			if text, ok := b.Key["term"].(string); ok && !strings.HasPrefix(text, c.dynamic()) {
				return nil
			}
			c.add(found, b.Key["term"], b.Count)
		}
		if len(read.Buckets) < termsPerPage {
			return nil
		}
		after = read.After
	}
}

// inIndex returns the fields of the index that can contain the values (see translate.Translator.Indexed).
func (c *counting) inIndex() []string {
	if c.field.Name == query.AllTags {
		return []string{schema.FieldDynamic}
	}
	return c.queries.Indexed(c.field)
}

// dynamic returns the prefix of the field's terms in schema.FieldDynamic. It returns an empty string for a field of the catalogue.
func (c *counting) dynamic() string {
	if c.field.Name == query.AllTags {
		return query.AllTags + "."
	}
	return schema.PrefixOf(c.field)
}

// include returns the terms that a terms aggregation counts, as a list or as a regular expression. If the aggregation counts all terms,
// include returns neither.
func (c *counting) include() (list []any, pattern string) {
	only := c.counter.Only()
	if only != nil && c.field.Type != query.Boolean {
		list = []any{}
		for _, value := range only {
			if term := c.termOf(value); term != nil {
				list = append(list, term)
			}
		}
		return list, ""
	}
	switch key := c.counter.Key(); {
	case key != "":
		return nil, automaton.Concat(automaton.Literal(c.dynamic()), automaton.Without(0), automaton.Literal("\x00"+key), automaton.AnyString()).Print()
	case c.field.Type == query.Keyword && c.field.Name != query.AllTags:
		if prefix := c.dynamic() + c.counter.Prefix(); prefix != "" {
			return nil, beginning(prefix)
		}
	case c.dynamic() != "":
		return nil, beginning(c.dynamic())
	}
	return nil, ""
}

// beginning returns a regular expression for the terms that begin with a text.
func beginning(text string) string {
	return automaton.Concat(automaton.Literal(text), automaton.AnyString()).Print()
}

// termOf returns the term of a value in the index. It returns nil if no term can have this value.
func (c *counting) termOf(value string) any {
	switch {
	case c.field.Name == query.AllTags:
		if at := strings.LastIndexByte(value, ':'); at >= 0 {
			return query.TagFieldName(value[:at]) + "\x00" + value[at+1:]
		}
		return nil
	case c.field.Type == query.Long:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n
		}
		return nil
	}
	return schema.PrefixOf(c.field) + value
}

// within returns a query for the items that have a number with the requested prefix. It returns nil if the request has no prefix. It also
// returns nil if the values are not numbers, because for other values, a regular expression selects the terms.
func (c *counting) within() object {
	if c.field.Type != query.Long || c.counter.Prefix() == "" {
		return nil
	}
	ranges := []object{}
	for _, r := range rangesOf(c.counter.Prefix()) {
		ranges = append(ranges, object{"range": object{schema.Indexed(c.field): object{"gte": r[0], "lte": r[1]}}})
	}
	if len(ranges) == 0 {
		return object{"match_none": object{}}
	}
	return object{"bool": object{"should": ranges}}
}

// rangesOf returns the ranges of the numbers whose decimal text begins with a prefix.
func rangesOf(prefix string) [][2]int64 {
	digits := strings.TrimPrefix(prefix, "-")
	switch {
	case prefix == "-":
		return [][2]int64{{math.MinInt64, -1}}
	case prefix == "0":
		return [][2]int64{{0, 0}}
	case digits == "" || digits[0] == '0' || strings.Trim(digits, "0123456789") != "":
		return nil
	}
	near, err := strconv.ParseInt(prefix, 10, 64)
	if err != nil {
		return nil // no number has this many digits
	}
	var ranges [][2]int64
	for far := near; ; near *= 10 { // near is the end of the range that is nearer to 0
		ranges = append(ranges, [2]int64{min(near, far), max(near, far)})
		switch {
		case near > math.MaxInt64/10 || near < math.MinInt64/10:
			return ranges
		case far > (math.MaxInt64-9)/10:
			far = math.MaxInt64
		case far < (math.MinInt64+9)/10:
			far = math.MinInt64
		case near < 0:
			far = 10*far - 9
		default:
			far = 10*far + 9
		}
	}
}

// add adds the count of a term, unless the value of the term is counted by query. It reports whether the value is wanted.
func (c *counting) add(found *counted, key any, n int64) bool {
	value := ""
	switch key := key.(type) {
	case string:
		value = strings.TrimPrefix(key, schema.PrefixOf(c.field))
		if c.field.Name == query.AllTags {
			name, keyword, _ := strings.Cut(key, "\x00")
			namespace, _ := query.TagNamespace(name)
			value = namespace + ":" + keyword
		}
	case uint64:
		value = c.field.CountedNumber(int64(key))
	case int64:
		value = c.field.CountedNumber(key)
	}
	if _, byQuery := c.byQuery[value]; byQuery || !c.counter.Wants(value) {
		return false
	}
	found.counts[value] = n
	return true
}
