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

// Facet selects the values that Facets counts.
type Facet struct {
	// Field is the name of a field that query.Countable accepts.
	Field string
	// Prefix, if set, restricts the result to values that begin with it. The comparison ignores case. Numbers are compared as decimal
	// text.
	Prefix string
	// Key, if set, restricts the result for the field query.AllTags to tags whose key begins with it. The comparison ignores case.
	Key string
	// Only, if not nil, lists the only values to count.
	Only []string
	// Limit is the maximum number of values, from 0 to MaxFacetValues.
	Limit int
}

// Facets is the result of Library.Facets.
type Facets struct {
	// Field is the canonical name of the field.
	Field string
	// Total is the number of matching items, with or without a value.
	Total int64
	// Values are the most frequent values, the most frequent first. Values of equal frequency are in ascending order: numbers by value,
	// others by their bytes. Values longer than query.MaxLength bytes are left out.
	Values []FacetValue
	// Expires is when the result may change through the passage of time (`now` in a query); zero means never.
	Expires time.Time
}

// FacetValue is one value and the number of matching items that have it.
type FacetValue struct {
	// Value is a keyword in lower case, "true" or "false", a decimal number, or for query.AllTags a tag as namespace:key. The query that
	// query.ValueTerm returns for it finds exactly the items that have it.
	Value string
	Count int64
}

// FacetCounter collects the counts of the values of a field, and keeps the most frequent ones. All implementations of Library share
// it, so that they agree on the order. It is not safe for concurrent use.
type FacetCounter struct {
	field  query.Field
	prefix string
	key    string
	only   []string
	chosen map[string]bool // the values of only
	limit  int
	// kept is a heap with the least frequent value first.
	kept keptValues
}

// NewFacetCounter returns a counter for a facet, and the field whose values it counts. The error is that of query.Countable.
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

// Prefix returns the prefix of the wanted values in lower case. Keywords with this prefix are adjacent in a sorted dictionary.
func (c *FacetCounter) Prefix() string { return c.prefix }

// Key returns what the keys of the wanted tags begin with, in lower case.
func (c *FacetCounter) Key() string { return c.key }

// Only returns the wanted values, nil for all.
func (c *FacetCounter) Only() []string { return c.only }

// Limit returns the maximum number of values.
func (c *FacetCounter) Limit() int { return c.limit }

// Wants reports whether the facet includes a value. It omits values that are longer than a query can be, because no query could name them.
func (c *FacetCounter) Wants(value string) bool {
	if len(value) > query.MaxLength || c.chosen != nil && !c.chosen[value] {
		return false
	}
	if c.field.Name == query.AllTags {
		value = query.Fold(value) // namespaces can have upper case
		if !strings.HasPrefix(value[strings.LastIndexByte(value, ':')+1:], c.key) {
			return false
		}
	}
	return strings.HasPrefix(value, c.prefix)
}

// Reaches reports whether a value with this count can still be among the most frequent ones, given the values that were added so far.
func (c *FacetCounter) Reaches(count int64) bool {
	return count > 0 && c.limit > 0 && (len(c.kept) < c.limit || count >= c.kept[0].Count)
}

// Add adds a value with its total count. Each value can be added once. Values that are not wanted, or whose count is 0, are ignored. beaten
// is true if the value is wanted, but the values that precede it already fill the limit.
func (c *FacetCounter) Add(value string, count int64) (beaten bool) {
	if count <= 0 || c.limit == 0 || !c.Wants(value) {
		return false
	}
	v := keptValue{FacetValue: FacetValue{Value: value, Count: count}}
	if c.field.Type == query.Long {
		v.number, _ = strconv.ParseInt(value, 10, 64) // every Long value can be parsed
	}
	if c.isBeaten(v) {
		return true
	}
	c.keep(v)
	return false
}

// AddNumber is like Add, for a value of a field of the type Long.
func (c *FacetCounter) AddNumber(n, count int64) {
	v := keptValue{FacetValue: FacetValue{Count: count}, number: n}
	if !c.Reaches(count) || c.isBeaten(v) {
		return // without formatting the number
	}
	if v.Value = c.field.CountedNumber(n); c.Wants(v.Value) {
		c.keep(v)
	}
}

// isBeaten reports whether the kept values fill the limit and precede v.
func (c *FacetCounter) isBeaten(v keptValue) bool {
	return len(c.kept) == c.limit && v.compare(c.kept[0]) > 0
}

// keep keeps v, and drops the last value if there are too many.
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

// keptValue is a value and, for the type Long, its number.
type keptValue struct {
	FacetValue
	number int64
}

// compare orders values as Facets.Values are ordered.
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
