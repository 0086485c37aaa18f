package records

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// recordHit is a document of the definitions index.
type recordHit = cluster.Numbered[record]

// gapPatience is the time for which the follower waits for a missing operation. After that, the follower assumes that the operation
// stored nothing, or that its document has changed again. Operations become visible within milliseconds of one another.
const gapPatience = 10 * time.Second

// look sends a request for changes.
func (r *Records) look(ctx context.Context, method, path string, body any, out cluster.Answer) error {
	ctx, cancel := cluster.Limited(ctx, r.limit)
	defer cancel()
	return r.cluster.Do(ctx, method, path, body, out)
}

// since returns the records whose last operation has at least the sequence number `from`, ordered by that number.
func (r *Records) since(ctx context.Context, from int64) ([]recordHit, error) {
	hits, err := cluster.BySequence[record](ctx, r.look, r.names.Definitions(), from)
	if err != nil {
		return nil, fmt.Errorf("read the definitions: %w", err)
	}
	return hits, nil
}

// attached fails unless the elected manager of the cluster responds. A node that has lost contact with its cluster still answers
// searches, but does not see writes to the other nodes.
func (r *Records) attached(ctx context.Context) error {
	if err := r.look(ctx, http.MethodGet, "/_cluster/health?filter_path=status", nil, &cluster.Health{}); err != nil {
		return fmt.Errorf("check that the cluster manager responds: %w", err)
	}
	return nil
}

// decode decodes documents and adds their marks to marks. It does not change r.
func (r *Records) decode(hits []recordHit, marks map[string]string) (*decoded, error) {
	d := &decoded{marks: marks, entries: map[definitions.Source]*definitions.Entry{}, seen: map[string]seenRecord{}, unreadable: map[string]error{}}
	for _, h := range hits {
		seen, again := d.seen[h.ID]
		if !again {
			seen = r.seen[h.ID]
		}
		switch h.Source.Type {
		case typeMeta:
			d.meta = &Meta{}
			if err := json.Unmarshal([]byte(h.Source.Value), d.meta); err != nil {
				return nil, fmt.Errorf("read the keys of the library: %w", err)
			}
		case typeMark:
			d.marks[h.Source.Name] = h.Source.Value
		case typeDefinition:
			if !h.Source.Gone {
				e, err := definitions.DecodeEntry([]byte(h.Source.Value))
				if err != nil {
					d.unreadable[h.ID] = fmt.Errorf("record %s: %w", h.ID, err)
					r.keepReadable(d, seen.source)
					break
				}
				seen.source = definitions.SourceOf(e.Latest)
				d.entries[seen.source] = e
			} else if seen.source != (definitions.Source{}) {
				d.entries[seen.source] = nil
			}
		}
		d.seen[h.ID] = seenRecord{h.Version, seen.source}
	}
	return d, nil
}

// keepReadable keeps the previous definition of a document that has become unreadable. However, it removes a token, because the document
// may revoke the token.
func (r *Records) keepReadable(d *decoded, source definitions.Source) {
	e := r.Now().Set.Entry(source)
	if e != nil && e.Latest.Token != nil {
		e = nil
	}
	if source != (definitions.Source{}) {
		d.entries[source] = e
	}
}

// Reload reads all records. If it fails, nothing changes.
func (r *Records) Reload(ctx context.Context) error {
	index := r.names.Definitions()
	var stats cluster.StatsOf
	if err := r.look(ctx, http.MethodGet, "/"+index+"/_stats/docs?level=shards", nil, &stats); err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	// A refresh makes all operations up to the checkpoint visible.
	checkpoint, err := stats.Indices.Checkpoint(schema.SharedIndex(index))
	if err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	if err := r.look(ctx, http.MethodPost, "/"+index+"/_refresh", nil, &cluster.OnShards{}); err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	hits, err := r.since(ctx, 0)
	if err != nil {
		return err
	}
	read, err := r.decode(hits, map[string]string{})
	if err != nil {
		return err
	}
	meta := read.meta
	if meta == nil {
		return fmt.Errorf("read the definitions: index %s contains no key of a library: restore it from a snapshot", index)
	}
	if meta.Format > format {
		return fmt.Errorf("read the definitions: a newer Vitrine wrote them in format %d, but this version reads only formats up to %d", meta.Format, format)
	}
	key, err := base64.StdEncoding.DecodeString(meta.AuthorKey)
	if err != nil {
		return fmt.Errorf("read the keys of the library: %w", err)
	}
	maps.DeleteFunc(read.entries, func(_ definitions.Source, e *definitions.Entry) bool { return e == nil })
	set, err := definitions.NewSet(read.entries)
	if err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	r.seen, r.term, r.next, r.gapped = read.seen, 0, checkpoint+1, time.Time{}
	for _, h := range hits {
		r.term = max(r.term, h.Term)
	}
	r.setUnreadable(read, true)
	r.forgetProperties(read.entries)
	r.state.Store(&State{Set: set, Marks: read.marks, AuthorKey: key, copied: meta.Transfer != "" || meta.Copied != "" && !meta.Used})
	r.feed.Set(set.Tokens())
	return nil
}

// CatchUp reads the records that have changed and updates the state with them. If it fails, it keeps what it has read so far, so that many
// changes cannot outlast the limit of every call. The caller holds changing.
func (r *Records) CatchUp(ctx context.Context) error {
	from := r.next
	for more := true; more; {
		var hits []recordHit
		var err error
		if hits, more, err = cluster.PageBySequence[record](ctx, r.look, r.names.Definitions(), from); err != nil {
			return fmt.Errorf("read the definitions: %w", err)
		}
		var news []recordHit
		for _, h := range hits {
			if h.Term > r.term {
				// Another copy of the shard became the primary. Operations that this copy does not have were never acknowledged.
				return r.Reload(ctx)
			}
			if r.seen[h.ID].Version != h.Version {
				news = append(news, h)
			}
		}
		if err := r.take(news); err != nil {
			return err
		}
		if r.next == from { // otherwise, an operation of an earlier page is missing
			r.advance(hits)
		}
		if more {
			from = hits[len(hits)-1].Seq + 1
		}
	}
	return nil
}

// take updates the state with records that have changed. If it fails, nothing changes.
func (r *Records) take(news []recordHit) error {
	if len(news) == 0 {
		return nil
	}
	now := r.Now()
	read, err := r.decode(news, maps.Clone(now.Marks))
	if err != nil {
		return err
	}
	c := definitions.NewChange(now.Set)
	if err := c.Stage(read.entries); err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	r.setUnreadable(read, false)
	maps.Copy(r.seen, read.seen)
	r.publish(c, read.marks)
	return nil
}

// advance raises next past the operations that were seen. Operations can become visible out of order, so next stays at a missing
// operation until gapPatience has passed.
func (r *Records) advance(hits []recordHit) {
	for _, h := range hits {
		if h.Seq > r.next {
			if r.gapped.IsZero() {
				r.gapped = time.Now()
			}
			if time.Since(r.gapped) < gapPatience {
				return
			}
		}
		r.next, r.gapped = h.Seq+1, time.Time{}
	}
}

// publish makes a change visible in this replica.
func (r *Records) publish(c *definitions.Change, marks map[string]string) {
	r.forgetProperties(c.Changed)
	r.state.Store(&State{Set: c.Set, Marks: marks, AuthorKey: r.Now().AuthorKey})
	if c.Tokens {
		r.feed.Set(c.Set.Tokens())
	}
}

// forgetProperties forgets what this replica remembers about the properties that changed entries declare or declared. Another replica may
// have purged such a property and created it again, even if this replica saw only the creation.
func (r *Records) forgetProperties(changed map[definitions.Source]*definitions.Entry) {
	for s, e := range changed {
		if e == nil {
			e = r.Now().Set.Entry(s)
		}
		if e != nil && e.Latest.PropertySpec != nil {
			r.Forget(e.Latest.Property)
		}
	}
}
