package upkeep

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// copier replaces one generation of an index of items with a copy that has the latest schema.
//
// The copier copies the operations of the source in the order of their sequence numbers. It blocks writes only while it copies the last
// operations. The documents of the copy have the sequence numbers as external versions. The copier can therefore copy an operation again,
// and never overwrites a newer state of an item. Deleted items have no document, so the copier finds them by comparing the two indices.
//
// The copier fills the copy through an alias that contains a random token, and the switch to the copy requires this alias. A copier that
// takes over a copy changes the alias. If the process of the previous copier was only paused and continues later, it can therefore neither
// change the copy nor switch to it.
type copier struct {
	shared
	from, to *indices.Index
	// copied is the lowest sequence number of the source whose operation is not yet copied.
	copied int64
	// saved is the time at which copied was last stored.
	saved time.Time
}

const (
	// copyAtOnce is the number of items that one search of a copier returns.
	copyAtOnce = 1000
	// copySaved is the time between two updates of the stored progress.
	copySaved = 5 * time.Second
	// closeBehind is the maximum number of items in a pass after which the copier blocks writes and finishes. After a longer pass, the
	// copier starts another pass.
	closeBehind = 2000
	// passesAtMost limits the number of passes before the copier blocks writes, in case writes are faster than the copier.
	passesAtMost = 20
	// switchTimeout limits the time for which a copier blocks writes. It is shorter than the default timeout of requests.
	switchTimeout = 15 * time.Second
)

// beginCopy creates the copy, or takes over a copy that an interrupted rebuild left behind.
func beginCopy(ctx context.Context, s shared, g *indices.Generations) (*copier, error) {
	c, ix := &copier{shared: s, from: g.Current}, s.indices
	for _, x := range g.Copies {
		if x.Source == g.Current.UUID && x.Schema == ix.Schemas.Latest() {
			before := x.Copying
			c.to, c.copied = x, x.Copied
			c.to.Copying = c.to.Name + schema.CopyMark + strings.ToLower(rand.Text())
			err := ix.Alias(ctx, object{"remove": object{"index": x.Name, "alias": before, "must_exist": true}},
				object{"add": object{"index": x.Name, "alias": c.to.Copying}})
			if err != nil {
				return nil, err
			}
			break
		}
	}
	if g.Current.Blocked {
		if err := ix.Unblock(ctx, g.Current.Name); err != nil {
			return nil, err
		}
	}
	if c.to != nil {
		return c, nil
	}
	number := 1
	alias := ix.Names.Items(c.from.Property)
	for _, name := range g.All() {
		n, _ := strconv.Atoi(strings.TrimPrefix(name, alias+schema.GenerationMark)) // 0 if the name is not that of a generation
		number = max(number, n)
	}
	name := schema.Generation(alias, number+1)
	c.to = &indices.Index{
		Meta: schema.Meta{Property: c.from.Property, Schema: ix.Schemas.Latest(), Source: c.from.UUID},
		Name: name, Copying: name + schema.CopyMark + strings.ToLower(rand.Text()),
	}
	settings := ix.ItemSettings()
	settings["refresh_interval"] = -1
	return c, ix.Create(ctx, name, settings, ix.Schemas.Mapping(c.to.Meta), c.to.Copying)
}

// refresh makes all operations of an index visible to searches.
func (c *copier) refresh(ctx context.Context, x *indices.Index) error {
	return c.indices.Cluster.Do(ctx, http.MethodPost, "/"+x.Name+"/_refresh", nil, &cluster.OnShards{})
}

// pass copies the operations that every shard copy of the source has at the start of the pass. It returns the number of copied items.
func (c *copier) pass(ctx context.Context) (int64, error) {
	stats, err := c.indices.StatisticsOf(ctx, c.from.Name)
	if err != nil {
		return 0, err
	}
	checkpoint, err := stats.Checkpoint(c.from.Name)
	if err != nil {
		return 0, err
	}
	return c.copyTo(ctx, checkpoint)
}

// copyTo copies the operations up to a sequence number. It returns the number of copied items.
func (c *copier) copyTo(ctx context.Context, last int64) (n int64, err error) {
	if err := c.refresh(ctx, c.from); err != nil {
		return 0, err
	}
	for {
		var found cluster.HitsOf[indices.Stored]
		body := object{
			"size": copyAtOnce, "track_total_hits": false, "seq_no_primary_term": true, "stored_fields": []string{schema.FieldItem, schema.FieldWrite, schema.FieldHistory},
			"query": object{"bool": object{
				"filter": object{"range": object{"_seq_no": object{"gte": c.copied, "lte": last}}}, "must_not": schema.Tombstones(),
			}},
			"sort": []any{object{"_seq_no": "asc"}},
		}
		if err := c.indices.Cluster.Do(ctx, http.MethodPost, "/"+c.from.Name+cluster.SearchPath, body, &found); err != nil {
			return n, err
		}
		hits := found.Hits.Hits
		if err := c.store(ctx, hits); err != nil {
			return n, err
		}
		n += int64(len(hits))
		if len(hits) < copyAtOnce {
			break
		}
		c.copied = hits[len(hits)-1].Seq + 1
		if err := c.save(ctx, false); err != nil {
			return n, err
		}
	}
	if last < math.MaxInt64 {
		c.copied = max(c.copied, last+1)
	}
	return n, c.save(ctx, true)
}

// store stores items in the copy, except those of which the copy has a newer state.
func (c *copier) store(ctx context.Context, hits []indices.Stored) error {
	ops := make([]cluster.Operation, len(hits))
	for i, h := range hits {
		it, err := h.Item()
		if err != nil {
			return err
		}
		ops[i] = cluster.Operation{
			Index: c.to.Copying, ID: strconv.FormatInt(h.ID, 10), External: h.Seq + 1,
			Doc: c.indices.Schemas.Document(c.to.Schema, it, func() []byte { return []byte(h.Fields.Item[0]) }, schema.Trace{Token: h.Token(), History: h.History()}),
		}
	}
	return cluster.FirstError(c.indices.Cluster.Bulk(ctx, ops, cluster.RefreshNone))
}

// save stores the progress in the copy. Unless now is true, it does so at most once in copySaved.
func (c *copier) save(ctx context.Context, now bool) error {
	if c.to.Copied == c.copied || !now && time.Since(c.saved) < copySaved {
		return nil
	}
	c.saved, c.to.Copied = time.Now(), c.copied
	if err := c.indices.Cluster.Do(ctx, http.MethodPut, "/"+c.to.Copying+"/_mapping", object{"_meta": c.to.Meta}, &cluster.Acknowledged{}); err != nil {
		return fmt.Errorf("store the progress of a rebuild: %w", err)
	}
	return nil
}

// prepare prepares the copy for searches.
func (c *copier) prepare(ctx context.Context) error {
	settings := object{"index.refresh_interval": c.indices.Refresh.String()}
	if err := c.indices.Cluster.Do(ctx, http.MethodPut, "/"+c.to.Copying+"/_settings", settings, &cluster.Acknowledged{}); err != nil {
		return err
	}
	// A node may leave the cluster during the rebuild. The copy must be stored on as many nodes as the source.
	return c.indices.Cluster.Do(ctx, http.MethodGet, "/_cluster/health/"+c.to.Name+"?wait_for_no_initializing_shards=true&timeout=10s", nil, &cluster.Health{})
}

// finish blocks writes to the source, copies the remaining operations, and makes the copy the current generation. It returns the duration
// of the block. If it fails, it removes the block.
func (c *copier) finish(ctx context.Context) (took time.Duration, err error) {
	ix := c.indices
	within, cancel := context.WithTimeoutCause(ctx, switchTimeout, fmt.Errorf("the last step of the rebuild did not finish within %s", switchTimeout))
	defer cancel()
	start := time.Now()
	defer func() {
		if err != nil {
			c.unblock(ctx)
		}
	}()
	// The response shows that all earlier writes have ended.
	var answer cluster.BlockedWrites
	if err := ix.Cluster.Do(within, http.MethodPut, "/"+c.from.Name+"/_block/write", nil, &answer); err != nil {
		return 0, err
	}
	if !answer.All {
		return 0, fmt.Errorf("%w: a write to index %s may still be in progress", library.ErrUnavailable, c.from.Name)
	}
	if _, err := c.copyTo(within, math.MaxInt64); err != nil {
		return 0, err
	}
	if err := c.compare(within); err != nil {
		return 0, err
	}
	if err := c.refresh(within, c.to); err != nil {
		return 0, err
	}
	var counts [2]cluster.Count
	for i, x := range []*indices.Index{c.from, c.to} {
		if err := ix.Cluster.Do(within, http.MethodPost, "/"+x.Name+"/_count", object{"query": schema.Items()}, &counts[i]); err != nil {
			return 0, err
		}
	}
	if *counts[0].Count != *counts[1].Count {
		c.copied = 0
		if err := c.save(within, true); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("index %s has %d items, but its copy %s has %d: copying all items again", c.from.Name, *counts[0].Count, c.to.Name, *counts[1].Count)
	}
	alias := ix.Names.Items(c.from.Property)
	remove := func(x *indices.Index, alias string) object {
		return object{"remove": object{"index": x.Name, "alias": alias, "must_exist": true}}
	}
	err = ix.Alias(within,
		remove(c.from, alias), remove(c.from, c.from.Name+schema.CurrentMark), remove(c.from, c.from.Writes()),
		remove(c.to, c.to.Copying), c.to.Show(alias), c.to.Show(c.to.Name+schema.CurrentMark))
	if err != nil {
		return 0, err
	}
	// The response shows that all nodes read from the copy. Only now may the copy accept writes: a node that still read from the source
	// would not see writes to the copy.
	return time.Since(start), ix.Alias(within, c.to.Activate())
}

// unblock lets the source accept writes again after finish has failed.
func (c *copier) unblock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cluster.ReleaseTimeout)
	defer cancel()
	err := c.indices.Cluster.Do(ctx, http.MethodGet, "/"+c.to.Name+"/_alias/"+c.to.Copying, nil, nil)
	if cluster.IsAbsent(err) {
		return // another replica has taken over, and either needs the block or removes it
	}
	if err == nil {
		err = c.indices.Unblock(ctx, c.from.Name)
	}
	if cluster.IsBlocked(err) {
		return // the library is frozen, and a rebuild continues when the library accepts writes again
	}
	if err != nil {
		c.logger.Warn("cannot remove a write block, will retry", slog.Any("error", err))
	}
}

// rangesAtOnce is the maximum number of ranges of ids that one request compares. listedAtOnce is the maximum number of ids that one
// request lists.
const (
	rangesAtOnce = 512
	listedAtOnce = 10_000
)

// idRange is a range of ids. count is the number of items in the range, in the index that has more of these items.
type idRange struct {
	lo, hi item.ID
	count  int64
}

// compare deletes from the copy the items that the source does not contain. It splits the ranges in which the number or the sum of the
// ids differs, until it can list the items of these ranges. It finds all such items only if nothing changes during the comparison and the
// copy contains every item of the source. Otherwise, differences can cancel each other out.
func (c *copier) compare(ctx context.Context) error {
	for _, x := range []*indices.Index{c.from, c.to} {
		if err := c.refresh(ctx, x); err != nil {
			return err
		}
	}
	var answer highestID
	body := object{"size": 0, "track_total_hits": false, "aggs": object{"highest": object{"max": object{"field": "id"}}}}
	if err := c.indices.Cluster.Do(ctx, http.MethodPost, "/"+c.to.Name+cluster.SearchPath, body, &answer); err != nil {
		return err
	}
	ranges := []idRange{{lo: 1, hi: item.ID(answer.Aggregations.Highest.Value)}} // this range contains all items of the copy
	for len(ranges) > 0 && ranges[0].hi > 0 {
		var err error
		if ranges, err = c.differing(ctx, split(ranges)); err != nil {
			return err
		}
		var items int64
		for _, r := range ranges {
			items += r.count
		}
		if items <= listedAtOnce || len(ranges) > rangesAtOnce/8 {
			return c.deleteExtra(ctx, ranges)
		}
	}
	return nil
}

// highestID is the response to a search for the highest id of an item. The value is 0 if there are no items.
type highestID struct {
	cluster.Searched
	Aggregations struct {
		Highest *struct {
			Value float64 `json:"value"`
		} `json:"highest"`
	} `json:"aggregations"`
}

func (a *highestID) Lacks() string {
	return cmp.Or(a.Searched.Lacks(), cluster.Lacking(a.Aggregations.Highest != nil, "aggregations"))
}

// split divides ranges into at most rangesAtOnce smaller ranges.
func split(ranges []idRange) []idRange {
	var parts []idRange
	for _, r := range ranges {
		width := (r.hi-r.lo)/int64(rangesAtOnce/len(ranges)) + 1
		for lo := r.lo; lo <= r.hi; lo += width {
			parts = append(parts, idRange{lo: lo, hi: min(r.hi, lo+width-1)})
		}
	}
	return parts
}

// digest is the number of items in a range of ids and the sum of the ids of these items.
type digest struct {
	Count int64 `json:"doc_count"`
	Sum   struct {
		Value float64 `json:"value"`
	} `json:"sum"`
}

// digests is the response to a search for the digests of ranges. wanted is the number of ranges.
type digests struct {
	cluster.Searched
	wanted       int
	Aggregations struct {
		Ranges struct {
			Buckets []digest `json:"buckets"`
		} `json:"ranges"`
	} `json:"aggregations"`
}

func (a *digests) Lacks() string {
	return cmp.Or(a.Searched.Lacks(), cluster.Unless(len(a.Aggregations.Ranges.Buckets) == a.wanted, fmt.Sprintf("it does not have %d ranges", a.wanted)))
}

// differing returns the ranges whose digests differ between the source and the copy.
func (c *copier) differing(ctx context.Context, ranges []idRange) ([]idRange, error) {
	limits := make([]object, len(ranges))
	for i, r := range ranges {
		limits[i] = object{"from": r.lo, "to": r.hi + 1}
	}
	body := object{"size": 0, "track_total_hits": false, "aggs": object{"ranges": object{
		"range": object{"field": "id", "ranges": limits}, "aggs": object{"sum": object{"sum": object{"field": "id"}}},
	}}}
	var of [2][]digest
	for i, x := range []*indices.Index{c.from, c.to} {
		answer := digests{wanted: len(ranges)}
		if err := c.indices.Cluster.Do(ctx, http.MethodPost, "/"+x.Name+cluster.SearchPath, body, &answer); err != nil {
			return nil, err
		}
		of[i] = answer.Aggregations.Ranges.Buckets
	}
	var out []idRange
	for i, r := range ranges {
		if of[0][i] != of[1][i] {
			out = append(out, idRange{r.lo, r.hi, max(of[0][i].Count, of[1][i].Count)})
		}
	}
	return out, nil
}

// deleteExtra deletes from the copy the items in the ranges that the source does not contain.
func (c *copier) deleteExtra(ctx context.Context, ranges []idRange) error {
	for len(ranges) > 0 {
		n, items := 1, ranges[0].count
		for n < len(ranges) && items+ranges[n].count <= listedAtOnce {
			items += ranges[n].count
			n++
		}
		is, err := c.ids(ctx, c.from, ranges[:n])
		if err != nil {
			return err
		}
		has, err := c.ids(ctx, c.to, ranges[:n])
		if err != nil {
			return err
		}
		var ops []cluster.Operation
		for id := range has {
			if !is[id] {
				ops = append(ops, cluster.Operation{Index: c.to.Copying, ID: strconv.FormatInt(id, 10)})
			}
		}
		if err := cluster.FirstError(c.indices.Cluster.Bulk(ctx, ops, cluster.RefreshNone)); err != nil {
			return err
		}
		ranges = ranges[n:]
	}
	return nil
}

// ids returns the ids of an index's items in the given ranges.
func (c *copier) ids(ctx context.Context, x *indices.Index, ranges []idRange) (map[item.ID]bool, error) {
	within := make([]object, len(ranges))
	for i, r := range ranges {
		within[i] = object{"range": object{"id": object{"gte": r.lo, "lte": r.hi}}}
	}
	out := map[item.ID]bool{}
	for last := item.ID(0); ; {
		var found cluster.HitsOf[indices.Stored]
		body := object{
			"size": listedAtOnce, "track_total_hits": false, "_source": false,
			"query": object{"bool": object{"should": within}}, "sort": []any{object{"id": "asc"}}, "search_after": []any{last},
		}
		if err := c.indices.Cluster.Do(ctx, http.MethodPost, "/"+x.Name+cluster.SearchPath, body, &found); err != nil {
			return nil, err
		}
		for _, h := range found.Hits.Hits {
			out[h.ID], last = true, h.ID
		}
		if len(found.Hits.Hits) < listedAtOnce {
			return out, nil
		}
	}
}
