package library

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// MaxFacetValues is the maximum number of values that Facets returns.
const MaxFacetValues = 100

// Facet selects the field and the values that Facets counts.
type Facet struct {
	// Field is the name of a field that query.Countable accepts.
	Field string
	// Prefix, if set, restricts the result to values that begin with it. The comparison ignores case. Numbers are compared as decimal
	// text.
	Prefix string
	// Key, if set, restricts the result to tags whose key begins with it. It applies only to the field query.AllTags. The comparison ignores
	// case.
	Key string
	// Only, if not nil, restricts the result to these values.
	Only []string
	// Limit is the maximum number of values, from 0 to MaxFacetValues.
	Limit int
}

// Facets is the result of Library.Facets.
type Facets struct {
	// Field is the canonical name of the field.
	Field string
	// Total is the number of matching items, whether or not they have a value in the field.
	Total int64
	// Values are the most frequent values, in descending order of frequency. Equally frequent values are in ascending order: numbers by size,
	// and other values by their bytes. Values longer than query.MaxLength bytes are left out.
	Values []FacetValue
	// Expires is the time from which the result may change without a write, because of `now` in a query. Zero means never.
	Expires time.Time
}

// FacetValue is one value and the number of matching items that have it.
type FacetValue struct {
	// Value is a keyword in lower case, "true", "false", a decimal number or, for query.AllTags, a tag as namespace:key. query.ValueTerm
	// returns the query that finds exactly the items with this value.
	Value string
	Count int64
}

// FacetCounter collects the counts of the values of a field, and keeps the most frequent ones. All implementations of Library use it, so
// that they return values in the same order. It is not safe for concurrent use.
type FacetCounter struct {
	field  query.Field
	prefix string
	key    string
	only   []string
	chosen map[string]bool // the values of only, as a set
	limit  int
	// kept is a heap with the least frequent value first.
	kept keptValues
}

// NewFacetCounter returns a counter for a facet, and the field whose values it counts. Its errors are those of query.Countable.
func NewFacetCounter(f Facet, a query.Audience) (*FacetCounter, query.Field, error) {
	field, err := query.Countable(f.Field, a)
	if err != nil {
		return nil, field, err
	}
	c := &FacetCounter{field: field, prefix: query.Fold(f.Prefix), only: f.Only, limit: max(0, min(f.Limit, MaxFacetValues))}
	if field.Name == query.AllTags {
		c.key = query.Fold(f.Key)
	}
	if f.Only != nil {
		c.chosen = map[string]bool{}
		for _, value := range f.Only {
			c.chosen[value] = true
		}
	}
	return c, field, nil
}

// Prefix returns the prefix of the wanted values, in lower case. In a sorted dictionary, all keywords with this prefix are adjacent.
func (c *FacetCounter) Prefix() string { return c.prefix }

// Key returns the prefix of the keys of the wanted tags, in lower case.
func (c *FacetCounter) Key() string { return c.key }

// Only returns the wanted values, or nil if all values are wanted.
func (c *FacetCounter) Only() []string { return c.only }

// Limit returns the maximum number of values.
func (c *FacetCounter) Limit() int { return c.limit }

// Wants reports whether the facet includes a value. It excludes values that are longer than the longest query, because no query could find
// them.
func (c *FacetCounter) Wants(value string) bool {
	if len(value) > query.MaxLength || c.chosen != nil && !c.chosen[value] {
		return false
	}
	if c.field.Name == query.AllTags {
		value = query.Fold(value) // namespaces can contain upper-case letters
		if !strings.HasPrefix(value[strings.LastIndexByte(value, ':')+1:], c.key) {
			return false
		}
	}
	return strings.HasPrefix(value, c.prefix)
}

// Reaches reports whether a value with this count can still be one of the most frequent values after the values that have been added.
func (c *FacetCounter) Reaches(count int64) bool {
	return count > 0 && c.limit > 0 && (len(c.kept) < c.limit || count >= c.kept[0].Count)
}

// Add adds a value with its total count. Call it once for each value. Add ignores a value that is not wanted or has a count of 0. beaten is
// true if Add drops a wanted value because the values that precede it already fill the limit.
func (c *FacetCounter) Add(value string, count int64) (beaten bool) {
	if count <= 0 || c.limit == 0 || !c.Wants(value) {
		return false
	}
	v := keptValue{FacetValue: FacetValue{Value: value, Count: count}}
	if c.field.Type == query.Long {
		v.number, _ = strconv.ParseInt(value, 10, 64) // cannot fail for a value of type Long
	}
	if c.isBeaten(v) {
		return true
	}
	c.keep(v)
	return false
}

// AddNumber is like Add, for a value of a field of type Long.
func (c *FacetCounter) AddNumber(n, count int64) {
	v := keptValue{FacetValue: FacetValue{Count: count}, number: n}
	if !c.Reaches(count) || c.isBeaten(v) {
		return // return early, to save the cost of formatting the number
	}
	if v.Value = c.field.CountedNumber(n); c.Wants(v.Value) {
		c.keep(v)
	}
}

// isBeaten reports whether the kept values fill the limit and precede v.
func (c *FacetCounter) isBeaten(v keptValue) bool {
	return len(c.kept) == c.limit && v.compare(c.kept[0]) > 0
}

// keep adds v to the kept values. If they already fill the limit, v replaces the last of them.
func (c *FacetCounter) keep(v keptValue) {
	if len(c.kept) < c.limit {
		heap.Push(&c.kept, v)
		return
	}
	c.kept[0] = v
	heap.Fix(&c.kept, 0)
}

// Facets returns the result. total is the number of matching items.
func (c *FacetCounter) Facets(total int64) *Facets {
	kept := slices.Clone(c.kept)
	slices.SortFunc(kept, keptValue.compare)
	f := &Facets{Field: c.field.Name, Total: total, Values: make([]FacetValue, len(kept))}
	for i, v := range kept {
		f.Values[i] = v.FacetValue
	}
	return f
}

// keptValue is a value with its count and, for type Long, the value as a number.
type keptValue struct {
	FacetValue
	number int64
}

// compare orders values in the order of Facets.Values.
func (v keptValue) compare(w keptValue) int {
	return cmp.Or(cmp.Compare(w.Count, v.Count), cmp.Compare(v.number, w.number), strings.Compare(v.Value, w.Value))
}

type keptValues []keptValue

func (k keptValues) Len() int           { return len(k) }
func (k keptValues) Less(i, j int) bool { return k[i].compare(k[j]) > 0 }
func (k keptValues) Swap(i, j int)      { k[i], k[j] = k[j], k[i] }
func (k *keptValues) Push(v any)        { *k = append(*k, v.(keptValue)) }
func (k *keptValues) Pop() any {
	last := (*k)[len(*k)-1]
	*k = (*k)[:len(*k)-1]
	return last
}
