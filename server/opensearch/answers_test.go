package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
)

// whatever is the response to a request on which only a test relies.
type whatever[T any] struct{ is T }

func (*whatever[T]) Lacks() string                  { return "" }
func (w *whatever[T]) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &w.is) }

// lies are false responses that a proxy may send. A function returns nil if it cannot change the response to this kind of request.
var lies = map[string]func(status int, body []byte) (int, []byte){
	"empty":     func(status int, _ []byte) (int, []byte) { return status, []byte("{}") },
	"null":      func(status int, _ []byte) (int, []byte) { return status, []byte("null") },
	"no bytes":  func(status int, _ []byte) (int, []byte) { return status, []byte{} },
	"web page":  func(int, []byte) (int, []byte) { return http.StatusOK, []byte("<html>Sign in</html>") },
	"not found": func(int, []byte) (int, []byte) { return http.StatusNotFound, []byte("<html>Not found</html>") },
	"failure":   func(int, []byte) (int, []byte) { return http.StatusInternalServerError, []byte("<html>Oops</html>") },
	"cut":       func(status int, body []byte) (int, []byte) { return status, body[:len(body)/2] },
	"timed out": edit(func(top map[string]any) bool {
		_, there := top["timed_out"]
		top["timed_out"] = true
		return there
	}),
	"failed shard": edit(func(top map[string]any) bool {
		shards, there := top["_shards"].(map[string]any)
		if there {
			shards["failed"], shards["successful"] = 1, 0
		}
		return there
	}),
	"no hits":         without("hits"),
	"no aggregations": without("aggregations"),
	"no documents":    without("docs"),
	"no results":      without("items"),
	"no indices":      without("indices"),
	"no acknowledgement": edit(func(top map[string]any) bool {
		_, there := top["acknowledged"]
		top["acknowledged"] = false
		return there
	}),
}

func without(member string) func(int, []byte) (int, []byte) {
	return edit(func(top map[string]any) bool {
		_, there := top[member]
		delete(top, member)
		return there
	})
}

// edit returns a lie that changes the members of a response. change returns false if the response does not have the member to change.
func edit(change func(top map[string]any) bool) func(int, []byte) (int, []byte) {
	return func(status int, body []byte) (int, []byte) {
		var top map[string]any
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if decoder.Decode(&top) != nil || !change(top) {
			return 0, nil
		}
		changed, err := json.Marshal(top)
		if err != nil {
			return 0, nil
		}
		return status, changed
	}
}

// lie tells a liar which responses to falsify. It travels in the context of a call, so that calls do not disturb one another.
type lie struct {
	// kind is the kind of requests whose responses are falsified (see kindOfRequest).
	kind string
	with func(status int, body []byte) (int, []byte)
	// seen contains the kinds of the requests of the call. told counts the falsified responses.
	mu   sync.Mutex
	seen map[string]bool
	told atomic.Int64
}

type lieKey struct{}

// liar is a transport that forwards requests to the cluster, and falsifies responses.
type liar struct{ http.RoundTripper }

var variable = regexp.MustCompile(`/test-[^/?]*|_doc/[^/?]*`)

// kindOfRequest returns the method and the path of a request without the names of indices and documents.
func kindOfRequest(r *http.Request) string {
	return r.Method + " " + variable.ReplaceAllString(r.URL.Path, "*")
}

func (l liar) RoundTrip(r *http.Request) (*http.Response, error) {
	of, _ := r.Context().Value(lieKey{}).(*lie)
	if of == nil {
		return l.RoundTripper.RoundTrip(r)
	}
	of.mu.Lock()
	of.seen[kindOfRequest(r)] = true
	of.mu.Unlock()
	r = r.Clone(r.Context())
	values := r.URL.Query()
	values.Del("format") // a lie edits JSON
	r.URL.RawQuery = values.Encode()
	res, err := l.RoundTripper.RoundTrip(r)
	if err != nil || of.kind != kindOfRequest(r) {
		return res, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if status, changed := of.with(res.StatusCode, body); changed != nil {
		of.told.Add(1)
		res.StatusCode, body = status, changed
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res, nil
}

// TestFalseAnswers checks every kind of call with every kind of false response, to each of the requests that the call sends. The call must
// return library.ErrUnavailable or, if the request is only an optimization, the true result.
func TestFalseAnswers(t *testing.T) {
	t.Parallel()
	l := openWith(t, t.TempDir(), time.Now, liar{http.DefaultTransport})
	defer l.Close()
	defs := agreedDefinitions()
	apply(t, l, defs...)
	var muts []library.Mutation
	for id := range item.ID(20) {
		it := image(id+1, "beach at sunset")
		it.ShortCode, it.Content.OriginalURL = fmt.Sprintf("code%d", id), "https://posts.example/1"
		muts = append(muts, library.Mutation{Put: it})
	}
	mustWrite(t, l, muts...)
	known, err := l.journalOf(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := query.Parse(`beach~ OR tags.\*:summer`)
	if err != nil {
		t.Fatal(err)
	}
	read := library.Read{Property: shop, Query: parsed.Root, Limit: 5}
	scored := read
	p, err := l.Read(t.Context(), scored)
	if err != nil {
		t.Fatal(err)
	}
	scored.After = p.Next
	page := func(ctx context.Context, r library.Read) (any, error) {
		p, err := l.Read(ctx, r)
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(p.Total, p.Count, string(p.Items)), nil
	}
	var next atomic.Int64
	next.Store(1000)
	calls := map[string]func(context.Context) (any, error){
		"page":   func(ctx context.Context) (any, error) { return page(ctx, read) },
		"total":  func(ctx context.Context) (any, error) { r := read; r.Limit = 0; return page(ctx, r) },
		"cursor": func(ctx context.Context) (any, error) { return page(ctx, scored) },
		"expiring": func(ctx context.Context) (any, error) {
			r := read
			q, err := query.Parse("created_on:[now-1d TO now+1d]")
			if err != nil {
				return nil, err
			}
			r.Query = q.Root
			return page(ctx, r)
		},
		"item": func(ctx context.Context) (any, error) {
			b, err := l.ReadItem(ctx, library.ItemRead{Property: shop, ID: 3})
			return string(b), err
		},
		"absent item": func(ctx context.Context) (any, error) {
			_, err := l.ReadItem(ctx, library.ItemRead{Property: shop, ID: 999})
			if errors.Is(err, library.ErrNotFound) {
				return "absent", nil
			}
			return nil, err
		},
		"tags": func(ctx context.Context) (any, error) { return l.ItemTags(ctx, shop, 3) },
		"facets": func(ctx context.Context) (any, error) {
			f, err := l.Facets(ctx, read, library.Facet{Field: query.AllTags, Limit: 5})
			return fmt.Sprintf("%+v", f), err
		},
		"why": func(ctx context.Context) (any, error) {
			e, err := l.Explain(ctx, read, 3)
			if err != nil {
				return nil, err
			}
			clearScores(e) // the other calls add items, which changes the scores
			return fmt.Sprintf("%+v", e), nil
		},
		"link": func(ctx context.Context) (any, error) {
			_, address, err := l.ShortLink(ctx, "code3")
			return address, err
		},
		"export": func(ctx context.Context) (any, error) {
			n := 0
			for _, err := range l.Export(ctx, shop, read.Query) {
				if err != nil {
					return nil, err
				}
				n++
			}
			return n, nil
		},
		"create": func(ctx context.Context) (any, error) {
			return written(l.Write(ctx, shop, []library.Mutation{{Put: image(next.Add(1), "new")}}))
		},
		"replace": func(ctx context.Context) (any, error) {
			return written(l.Write(ctx, shop, []library.Mutation{{Put: image(500, "new"), Replace: true}}))
		},
		"statistics": func(ctx context.Context) (any, error) {
			s, err := l.indices.Statistics(ctx)
			return len(s), err
		},
		"indices": func(ctx context.Context) (any, error) {
			g, err := l.indices.GenerationsOf(ctx, shop)
			if err != nil {
				return nil, err
			}
			return len(g.All()), nil
		},
		"tombstones": func(ctx context.Context) (any, error) {
			of, err := l.indices.Tombstones(ctx, nil)
			return len(of), err
		},
		"journal": func(ctx context.Context) (any, error) {
			looked, err := l.fresh.request(ctx, l.names.Items(shop))
			return looked.journal.index, err
		},
		"changes": func(ctx context.Context) (any, error) {
			out, err := known.journal.since(ctx, l.conn, 0, 10)
			return out.lost, err
		},
		"whole": func(ctx context.Context) (any, error) { return l.indices.CheckWhole(ctx) },
		"red": func(ctx context.Context) (any, error) {
			red, err := l.indices.RedIndices(ctx)
			return len(red), err
		},
		"blocks": func(ctx context.Context) (any, error) {
			blocked, err := l.indices.BlockedIndices(ctx)
			return len(blocked), err
		},
		"missing": func(ctx context.Context) (any, error) {
			results := make([]library.Result, 1)
			err := l.countMissing(ctx, defs[1:2], results)
			return results[0].MissingItems, err
		},
		"mark": func(ctx context.Context) (any, error) { return nil, l.SetMark(ctx, "key", fmt.Sprint(next.Add(1))) },
		"notes": func(ctx context.Context) (any, error) {
			n, err := l.facts.Notes(ctx, []library.PropertyID{shop})
			return len(n), err
		},
		"merge": func(ctx context.Context) (any, error) {
			return nil, l.indices.OnAllCopies(ctx, shop, "/_flush", time.Minute)
		},
		"ledger": func(ctx context.Context) (any, error) {
			l.facts.Forget(shop)
			ledger, err := l.facts.Ledgers.Get(ctx, shop)
			return ledger != nil, err
		},
		"settings": func(ctx context.Context) (any, error) {
			return nil, l.indices.Unblock(ctx, schema.Generation(l.names.Items(shop), 1))
		},
		"create index": func(ctx context.Context) (any, error) {
			return nil, l.indices.Create(ctx, fmt.Sprintf("%s-other-%d", l.options.Prefix, next.Add(1)), object{}, object{})
		},
	}
	told := map[string]int64{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for what, call := range calls {
		probe := &lie{seen: map[string]bool{}}
		want, err := call(context.WithValue(t.Context(), lieKey{}, probe))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		kinds := slices.Collect(maps.Keys(probe.seen))
		if len(kinds) == 0 {
			t.Errorf("%s sends no request", what)
		}
		for _, kind := range kinds {
			for name, with := range lies {
				group.Go(func() {
					of := &lie{kind: kind, with: with, seen: map[string]bool{}}
					got, err := call(context.WithValue(t.Context(), lieKey{}, of))
					if !errors.Is(err, library.ErrUnavailable) && (err != nil || fmt.Sprint(got) != fmt.Sprint(want)) {
						t.Errorf("%s, %q in response to %s: %v, %v; want ErrUnavailable, or %v", what, name, kind, got, err, want)
					}
					mu.Lock()
					defer mu.Unlock()
					told[name] += of.told.Load()
				})
			}
		}
	}
	group.Wait()
	for name := range lies {
		if told[name] == 0 {
			t.Errorf("no response was %q", name)
		}
	}
}

func clearScores(e *library.Explanation) {
	e.Score = 0
	for i := range e.Children {
		clearScores(&e.Children[i])
	}
}

// written returns the error of the only mutation of a write.
func written(outcomes []library.Outcome, err error) (any, error) {
	if err == nil {
		err = outcomes[0].Err
	}
	return nil, err
}

// TestIncompleteErrors checks that the error of a false response names the request and what is missing, and quotes nothing.
func TestIncompleteErrors(t *testing.T) {
	t.Parallel()
	transport := &intercepted{}
	l, err := newLibrary(Options{URLs: []string{"http://127.0.0.1:1"}, Transport: transport, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer l.disconnect() //nolint:errcheck // the client has no connections
	for body, want := range map[string]string{
		`{"jane@mail.example":`:            "cannot be decoded",
		`{"jane@mail.example":1}`:          "timed_out",
		`{"timed_out":true,"_shards":{}}`:  "timed out",
		`{"timed_out":false,"_shards":{}}`: "_shards",
		`{"timed_out":false,"_shards":{"total":2,"successful":1,"failed":1},"hits":{"hits":[]}}`: "1 shards failed",
		`{"timed_out":false,"_shards":{"total":2,"successful":2,"failed":0}}`:                    "hits",
	} {
		transport.intercept(func(r *http.Request) (*http.Response, error) { return respond(r, http.StatusOK, body), nil })
		err := l.cluster.Do(t.Context(), http.MethodPost, "/x/_search", nil, &cluster.HitsOf[indices.Stored]{})
		if !errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "POST /x/_search") ||
			strings.Contains(err.Error(), "jane") {
			t.Errorf("%s: %v, want ErrUnavailable with %q", body, err, want)
		}
	}
}
