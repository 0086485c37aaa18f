package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// Names of the libraries and of the index that the part about Vitrine on OpenSearch creates.
const (
	scaledLibrary = "scaled"
	recordLibrary = "recorded"
	rawIndex      = "raw"
)

// scaled measures Vitrine with the library on OpenSearch. For imports, queries and posts, it records the requests that Vitrine sends to
// OpenSearch, and measures the same requests without Vitrine. It also compares a hot page of Vitrine on OpenSearch with the same page of
// Vitrine with the built-in engine.
func (b *suite) scaled(ctx context.Context) error {
	if b.opensearch == nil {
		b.say("the requirements of Vitrine on OpenSearch were not measured: OpenSearch is absent")
		return nil
	}
	through := subject.NewRecorder(b.opensearch)
	defer through.Close()
	documents, err := b.recordImport(ctx, through)
	if err != nil {
		return err
	}
	store, err := subject.NewStoreOn(ctx, b.opensearch, b.opensearch.Prefix(scaledLibrary), filepath.Join(b.dir, "store-scaled"), b.filters)
	if err != nil {
		return err
	}
	plain, err := subject.NewStore(ctx, filepath.Join(b.dir, "store-plain"), b.filters)
	if err != nil {
		return err
	}
	engine, err := b.serveOther(ctx, plain, b.serve)
	if err != nil {
		return err
	}
	on, err := b.serveScaled(ctx, store, nil)
	if err != nil {
		return err
	}
	if err := b.scaledImport(ctx, on, engine, documents); err != nil {
		return err
	}
	if on, err = b.scaledQueries(ctx, on, through); err != nil {
		return err
	}
	if err := b.scaledHot(ctx, on, engine); err != nil {
		return err
	}
	if err := b.scaledPosts(ctx, on, documents); err != nil {
		return err
	}
	return errors.Join(on.Stop(syscall.SIGTERM), engine.Stop(syscall.SIGTERM))
}

// serveOther starts Vitrine on a store other than the main one.
func (b *suite) serveOther(ctx context.Context, store *subject.Store, o subject.ServeOptions) (*subject.Vitrine, error) {
	o.Output = store.Dir + ".log"
	v, err := subject.Serve(ctx, store, b.client, o)
	if err == nil {
		b.stopping = append(b.stopping, v.Child)
	}
	return v, err
}

// serveScaled starts Vitrine on OpenSearch. If through is not nil, Vitrine connects to OpenSearch through this recorder.
func (b *suite) serveScaled(ctx context.Context, store *subject.Store, through *subject.Recorder) (*subject.Vitrine, error) {
	o := b.serve
	o.Library = "opensearch"
	o.Flags = append(slices.Clone(o.Flags), b.opensearch.LibraryFlags(b.opensearch.Prefix(scaledLibrary), through)...)
	return b.serveOther(ctx, store, o)
}

// recordImport imports the items into a separate library, and returns the documents that Vitrine stored for them, in the order of the
// items.
func (b *suite) recordImport(ctx context.Context, through *subject.Recorder) ([][]byte, error) {
	prefix := b.opensearch.Prefix(recordLibrary)
	store, err := subject.NewStoreOn(ctx, b.opensearch, prefix, filepath.Join(b.dir, "store-recorded"), nil)
	if err != nil {
		return nil, err
	}
	o := b.serve
	o.Library, o.Flags = "opensearch", append(slices.Clone(o.Flags), b.opensearch.LibraryFlags(prefix, through)...)
	v, err := b.serveOther(ctx, store, o)
	if err != nil {
		return nil, err
	}
	if _, err := b.importVitrine(ctx, v, v.CPU, 0, b.scale.scaled); err != nil {
		return nil, err
	}
	byID, err := through.Sources()
	if err != nil {
		return nil, err
	}
	documents := make([][]byte, b.scale.scaled)
	for i := range documents {
		if documents[i] = byID[strconv.Itoa(sample.FirstID+i)]; documents[i] == nil {
			return nil, fmt.Errorf("record the documents of Vitrine: item %d is missing", sample.FirstID+i)
		}
	}
	return documents, errors.Join(v.Stop(syscall.SIGTERM), b.opensearch.CreateLike(ctx, rawIndex, prefix))
}

// both returns a function that returns the sum of the processor times of Vitrine and of OpenSearch.
func (b *suite) both(v *subject.Vitrine) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		ours, err := v.CPU()
		if err != nil {
			return 0, err
		}
		theirs, err := b.opensearch.CPU()
		return ours + theirs, err
	}
}

// scaledImport compares three imports of the same items: through Vitrine on OpenSearch, through Vitrine with the built-in engine, and
// directly into OpenSearch as the documents that Vitrine would store.
func (b *suite) scaledImport(ctx context.Context, on, engine *subject.Vitrine, documents [][]byte) error {
	w := b.workload(report.ScaledImport, "Bulk import, with the library on OpenSearch", "items", importers, b.scale.scaled)
	chunk := b.scale.scaled / b.scale.scaledRounds
	into := func(name string, v *subject.Vitrine, cpu func() (time.Duration, error)) contender {
		return importer(ctx, name, cpu, func(round int) (load.Result, error) { return b.importVitrine(ctx, v, cpu, round*chunk, chunk) })
	}
	raw := importer(ctx, report.OpenSearch, b.opensearch.CPU, func(round int) (load.Result, error) {
		return b.importRaw(ctx, rawIndex, b.rawBodies(documents[round*chunk:(round+1)*chunk], round*chunk), chunk)
	})
	err := b.alternate(w, b.scale.scaledRounds, into(report.Scaled, on, b.both(on)), raw, into(report.Vitrine, engine, engine.CPU))
	if err != nil {
		return err
	}
	size, err := b.opensearch.ItemsSize(ctx, b.opensearch.Prefix(scaledLibrary))
	if err != nil {
		return err
	}
	m, err := on.Memory(on.Store.Dir)
	b.peer(report.Scaled, report.Stage{Items: b.scale.scaled, Resident: m.Resident, Anonymous: m.Anonymous, File: m.File, Disk: size})
	return err
}

// rawBodies returns the bodies of bulk requests with documents. The first document belongs to the item with the number first.
func (b *suite) rawBodies(documents [][]byte, first int) [][]byte {
	var bodies [][]byte
	for lines := range slices.Chunk(documents, bulkLines) {
		var body []byte
		for _, d := range lines {
			body = append(append(subject.BulkLine(body, int64(sample.FirstID+first)), d...), '\n')
			first++
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// scaledQueries sends queries to Vitrine one after the other. It also records the searches that Vitrine sends to OpenSearch for these
// queries, sends the same searches directly to OpenSearch, and compares the latencies. It restarts Vitrine and returns the new process.
func (b *suite) scaledQueries(ctx context.Context, on *subject.Vitrine, through *subject.Recorder) (*subject.Vitrine, error) {
	again := func(through *subject.Recorder) (err error) {
		if err := on.Stop(syscall.SIGTERM); err != nil {
			return err
		}
		on, err = b.serveScaled(ctx, on.Store, through)
		return err
	}
	booleans := b.corpus.Booleans((1 + b.scale.rounds) * b.scale.booleans)
	if err := again(through); err != nil {
		return nil, err
	}
	through.Searches() // discard the searches that Vitrine has sent at start
	searches := make([]load.Request, len(booleans))
	for i, q := range booleans {
		if _, _, err := b.client.Do(ctx, on.Items(q, newestFirst), http.StatusOK); err != nil {
			return nil, err
		}
		bodies := slices.DeleteFunc(through.Searches(), subject.IsFollowing)
		if len(bodies) != 1 {
			return nil, fmt.Errorf("record the searches of Vitrine: %d searches for one query", len(bodies))
		}
		searches[i] = b.opensearch.SearchItems(b.opensearch.Prefix(scaledLibrary), bodies[0])
	}
	if err := again(nil); err != nil {
		return nil, err
	}
	w := b.workload(report.ScaledQueries, "Ad-hoc query sorted by date, with the library on OpenSearch, and the search that Vitrine sends for it, sent directly to OpenSearch", "queries", 1, b.scale.scaled)
	// The first block is the warm-up of both servers and belongs to no round.
	block := func(list []load.Request) func(int) []load.Request {
		return func(round int) []load.Request {
			return list[(1+round)*b.scale.booleans : (2+round)*b.scale.booleans]
		}
	}
	queries := make([]load.Request, len(booleans))
	for i, q := range booleans {
		queries[i] = on.Items(q, newestFirst)
	}
	ours := b.sender(ctx, report.Scaled, 1, http.StatusOK, b.both(on), block(queries))
	raw := b.sender(ctx, report.OpenSearch, 1, http.StatusOK, b.opensearch.CPU, block(searches))
	for _, c := range []contender{ours, raw} {
		if _, err := c.round(-1); err != nil {
			return nil, err
		}
	}
	return on, b.alternate(w, b.scale.rounds, ours, raw)
}

// scaledHot compares the hot page of Vitrine on OpenSearch with the hot page of Vitrine with the built-in engine. Both libraries have the
// same items.
func (b *suite) scaledHot(ctx context.Context, on, engine *subject.Vitrine) error {
	totals, err := b.totals(ctx, engine)
	if err != nil {
		return err
	}
	plan, err := b.planPages(totals)
	if err != nil {
		return err
	}
	of := func(name string, v *subject.Vitrine, cpu func() (time.Duration, error)) contender {
		return b.sender(ctx, name, clients, http.StatusOK, cpu, func(int) []load.Request {
			return slices.Repeat([]load.Request{v.Page(plan.hot.filter, plan.hot.page)}, 8*b.scale.requests)
		})
	}
	ours, theirs := of(report.Scaled, on, b.both(on)), of(report.Vitrine, engine, engine.CPU)
	w := b.workload(report.ScaledHot, "Hot page of 50 items, with the library on OpenSearch", "requests", clients, b.scale.scaled)
	return b.alternate(w, b.scale.rounds, ours, theirs)
}

// scaledPosts posts single items to Vitrine with a few concurrent clients. It compares these requests with requests that send the documents
// of the items directly to OpenSearch.
func (b *suite) scaledPosts(ctx context.Context, on *subject.Vitrine, documents [][]byte) error {
	w := b.workload(report.ScaledPosts, "Single POSTs, with the library on OpenSearch", "requests", clients, b.scale.scaled)
	next := 0
	of := func(name string, cpu func() (time.Duration, error), request func(i int) load.Request) contender {
		return b.sender(ctx, name, clients, http.StatusCreated, cpu, func(int) []load.Request {
			list := make([]load.Request, b.scale.scaledPosts)
			for i := range list {
				list[i] = request(next)
				next++
			}
			return list
		})
	}
	return b.alternate(w, b.scale.rounds,
		of(report.Scaled, b.both(on), func(i int) load.Request { return on.Post(b.corpus.Post(i)) }),
		of(report.OpenSearch, b.opensearch.CPU, func(i int) load.Request { return b.opensearch.Put(rawIndex, documents[i%len(documents)]) }))
}
