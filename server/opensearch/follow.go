package opensearch

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
)

// recordHit is a document of the definitions index as a search returns it.
type recordHit struct {
	ID     string `json:"_id"`
	Seq    int64  `json:"_seq_no"`
	Term   int64  `json:"_primary_term"`
	Source record `json:"_source"`
}

func (h recordHit) version() version { return version{h.Seq, h.Term} }

// recordsAtOnce is how many records one search returns.
const recordsAtOnce = 1000

// gapPatience is how long an operation may be missing among later ones before it counts as one that stored nothing, or
// whose document was changed again. Operations become visible within milliseconds of one another.
const gapPatience = 10 * time.Second

// follow reads news until the context ends.
func (r *records) follow(ctx context.Context) {
	pause := time.NewTicker(r.library.options.FollowInterval)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		unlock, err := r.changing.lock(ctx)
		if err == nil {
			err = r.catchUp(ctx)
			unlock()
		}
		if ctx.Err() != nil {
			return
		}
		r.note(err)
	}
}

// note keeps the failure to follow for probes, and logs when following fails and when it works again.
func (r *records) note(err error) {
	r.problemMu.Lock()
	defer r.problemMu.Unlock()
	switch {
	case err != nil && r.failure == nil:
		r.library.options.Logger.Warn("cannot follow the definitions", slog.Any("error", err))
	case err == nil && r.failure != nil:
		r.library.options.Logger.Info("follows the definitions again")
	}
	r.failure = err
}

// problem says why the definitions may be out of date, "" when they are not.
func (r *records) problem() string {
	r.problemMu.Lock()
	defer r.problemMu.Unlock()
	if r.failure == nil {
		return ""
	}
	return fmt.Sprintf("changed definitions are not seen: %v", r.failure)
}

// lookTimeout bounds one request for news: a connection that is lost without a word must keep neither a revoked token in use nor
// changes waiting.
const lookTimeout = 3 * time.Second

// look sends a request for news.
func (r *records) look(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, &unreachableError{fmt.Errorf("no answer within %s", lookTimeout)})
	defer cancel()
	return r.library.cluster.do(ctx, method, path, body, out)
}

// since returns the records whose last operation has at least a number, in the order of the numbers.
func (r *records) since(ctx context.Context, from int64) ([]recordHit, error) {
	var all []recordHit
	for {
		var answer struct {
			Hits struct {
				Hits []recordHit `json:"hits"`
			} `json:"hits"`
		}
		body := object{
			"size": recordsAtOnce, "seq_no_primary_term": true, "track_total_hits": false,
			"query": object{"range": object{"_seq_no": object{"gte": from}}}, "sort": []any{object{"_seq_no": "asc"}},
		}
		if err := r.look(ctx, http.MethodPost, "/"+r.library.names.definitions()+searchPath, body, &answer); err != nil {
			return nil, fmt.Errorf("read the definitions: %w", err)
		}
		hits := answer.Hits.Hits
		all = append(all, hits...)
		if len(hits) < recordsAtOnce {
			return all, nil
		}
		from = hits[len(hits)-1].Seq + 1
	}
}

// catchUp brings the state to what searches of the index find. The caller holds
// changing.
func (r *records) catchUp(ctx context.Context) error {
	hits, err := r.since(ctx, r.next)
	if err != nil {
		return err
	}
	var news []recordHit
	for _, h := range hits {
		if h.Term > r.term {
			// Another copy of the shard became the primary. What it does not have was never acknowledged.
			return r.reload(ctx)
		}
		if r.seen[h.ID].version != h.version() {
			news = append(news, h)
		}
	}
	r.advance(hits)
	if len(news) == 0 {
		return nil
	}
	now := r.state.Load()
	marks, entries := maps.Clone(now.marks), map[definitions.Source]*definitions.Entry{}
	if _, err := r.take(news, marks, entries); err != nil {
		return err
	}
	c := definitions.NewChange(now.set)
	if err := c.Stage(entries); err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	r.publish(c, marks)
	return nil
}

// advance raises next past the operations that were seen. Two operations can become visible in another order than that of
// their numbers, so next stays at a missing one for a while.
func (r *records) advance(hits []recordHit) {
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
