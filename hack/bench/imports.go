package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// bulkLines is the number of lines in one import request.
const bulkLines = 1000

// mainIndex is the OpenSearch index of the items.
const mainIndex = "items"

// importItems imports the items into all subjects chunk by chunk, and alternates the order of the subjects. After a fifth of the items, it
// measures the early stage.
func (b *suite) importItems(ctx context.Context) error {
	b.filters = b.corpus.Filters(filters)
	var err error
	if b.store, err = subject.NewStore(ctx, filepath.Join(b.dir, "store"), b.filters); err != nil {
		return err
	}
	if err := b.startVitrine(ctx); err != nil {
		return err
	}
	if b.opensearch != nil {
		if err := b.opensearch.Create(ctx, mainIndex, subject.ItemMapping()); err != nil {
			return fmt.Errorf("create the index: %w", err)
		}
	}
	w := b.workload(report.Imports, "Bulk import, durable, all fields searchable at the end", "items", importers, b.scale.items)
	chunks := b.scale.items / b.scale.chunk
	for chunk := range chunks {
		first := chunk * b.scale.chunk
		if err := b.importChunk(ctx, w, first); err != nil {
			return err
		}
		b.say("%d of %d items are in", first+b.scale.chunk, b.scale.items)
		if first+b.scale.chunk == b.scale.early() && b.parts[partPages] {
			if err := b.earlyStage(ctx); err != nil {
				return err
			}
		}
	}
	b.tell(w)
	return b.peers(ctx)
}

// importChunk imports a chunk into every subject.
func (b *suite) importChunk(ctx context.Context, w *report.Workload, first int) error {
	takers := []contender{importer(ctx, report.Vitrine, b.vitrine.CPU, func(int) (load.Result, error) {
		return b.importVitrine(ctx, b.vitrine, b.vitrine.CPU, first, b.scale.chunk)
	})}
	if b.opensearch != nil {
		takers = append(takers, importer(ctx, report.OpenSearch, b.opensearch.CPU, func(int) (load.Result, error) { return b.importOpenSearch(ctx, first, b.scale.chunk) }))
	}
	return turn(w, first/b.scale.chunk, takers...)
}

// importer returns a contender that imports items. After each import, it waits until the server has finished its background work, such as
// merging, so that this work does not affect the next contender. It reports the processor time of this work separately. It reports no
// latencies, because each request imports many items.
func importer(ctx context.Context, name string, cpu func() (time.Duration, error), take func(round int) (load.Result, error)) contender {
	return contender{name, func(round int) (load.Result, error) {
		r, err := take(round)
		if err != nil {
			return r, err
		}
		r.Latencies = nil
		r.After, err = settle(ctx, cpu)
		return r, err
	}}
}

// bodies returns the request bodies of an import, so that the measurement does not include the time to build them. line appends the line
// that precedes an item; nil means that no line precedes an item.
func (b *suite) bodies(first, count int, line func(out []byte, id int64) []byte) [][]byte {
	list := make([][]byte, 0, (count+bulkLines-1)/bulkLines)
	for from := first; from < first+count; from += bulkLines {
		var body []byte
		for i := from; i < min(from+bulkLines, first+count); i++ {
			if line != nil {
				body = line(body, int64(sample.FirstID+i))
			}
			body = append(append(body, b.corpus.Item(i)...), '\n')
		}
		list = append(list, body)
	}
	return list
}

// importVitrine imports items over HTTP. cpu returns the processor time of the processes that serve Vitrine's library. A response means
// that all lines of the request are durable and visible.
func (b *suite) importVitrine(ctx context.Context, v *subject.Vitrine, cpu func() (time.Duration, error), first, count int) (load.Result, error) {
	bodies := b.bodies(first, count, nil)
	requests := make([]load.Request, len(bodies))
	for i, body := range bodies {
		requests[i] = v.Bulk(body)
	}
	r, err := b.client.Run(ctx, load.Plan{
		Clients: importers, Requests: requests, Want: http.StatusOK, CPU: cpu,
		Check: func(i int, body []byte) error {
			return subject.CheckBulk(body, min(bulkLines, count-i*bulkLines))
		},
	})
	r.Requests = count
	return r, err
}

// importOpenSearch imports the items into OpenSearch, as the same JSON as into Vitrine.
func (b *suite) importOpenSearch(ctx context.Context, first, count int) (load.Result, error) {
	return b.importRaw(ctx, mainIndex, b.bodies(first, count, subject.BulkLine), count)
}

// importRaw sends bulk requests with count documents in total to an index. The time includes the refresh that makes the documents
// searchable.
func (b *suite) importRaw(ctx context.Context, index string, bodies [][]byte, count int) (load.Result, error) {
	requests := make([]load.Request, len(bodies))
	for i, body := range bodies {
		requests[i] = b.opensearch.Bulk(index, body)
	}
	before, err := b.opensearch.CPU()
	if err != nil {
		return load.Result{}, err
	}
	began := time.Now()
	r, err := b.client.Run(ctx, load.Plan{
		Clients: importers, Requests: requests, Want: http.StatusOK,
		Check: func(_ int, body []byte) error { return subject.CheckSearchBulk(body) },
	})
	if err != nil {
		return r, err
	}
	if err := b.opensearch.Refresh(ctx, index); err != nil {
		return r, fmt.Errorf("refresh: %w", err)
	}
	r.Requests, r.Elapsed = count, time.Since(began)
	after, err := b.opensearch.CPU()
	r.CPU = after - before
	return r, err
}

// stage records the current sizes of Vitrine's store and process as a report.Stage.
func (b *suite) stage(ctx context.Context, items int) error {
	metrics, err := b.vitrine.Metrics(ctx)
	if err != nil {
		return err
	}
	m, err := b.vitrine.Memory(b.store.Dir)
	if err != nil {
		return err
	}
	disk, err := child.DiskUsage(b.store.Dir)
	if err != nil {
		return err
	}
	s := report.Stage{
		Items: items, HeapInUse: int64(metrics["go_memstats_heap_inuse_bytes"]), Resident: m.Resident, Anonymous: m.Anonymous, File: m.File, Mapped: m.Mapped, Disk: disk,
	}
	s.IndexBytes, s.SegmentItems = subject.IndexSize(m.Files)
	b.result.Stages = append(b.result.Stages, s)
	b.say("%d items: heap %d MiB in use, resident %d MiB (%d anonymous, %d file), mapped %d MiB, disk %d MiB, index %d bytes for %d items",
		items, s.HeapInUse>>20, s.Resident>>20, s.Anonymous>>20, s.File>>20, s.Mapped>>20, s.Disk>>20, s.IndexBytes, s.SegmentItems)
	return nil
}

// peers records the sizes of OpenSearch after the import.
func (b *suite) peers(ctx context.Context) error {
	if b.opensearch == nil {
		return nil
	}
	heap, resident, err := b.opensearch.Memory()
	if err != nil {
		return err
	}
	size, err := b.opensearch.Size(ctx, mainIndex)
	if err != nil {
		return err
	}
	b.peer(report.OpenSearch, report.Stage{Items: b.scale.items, HeapInUse: heap, Resident: resident, Disk: size})
	return nil
}

// peer records the size of a subject other than Vitrine.
func (b *suite) peer(name string, s report.Stage) {
	if b.result.Peers == nil {
		b.result.Peers = map[string]report.Stage{}
	}
	b.result.Peers[name] = s
}
