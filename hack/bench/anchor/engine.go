package anchor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// EngineMode is the first argument that makes a binary run as the process of the engine (see RunEngine).
const EngineMode = "run-engine"

const property = library.PropertyID("bench/default")

// BatchItems is the number of items in a batch of an import into the engine. The items of a batch become durable together.
const BatchItems = 1000

// Writers is the number of threads of an import.
const Writers = 2

// Engine handles the calls in the separate process.
type Engine struct {
	lib    *engine.Library
	newest query.Order
	buffer []byte
}

// RunEngine is the main function of the process with the engine, whose store is in dir. It handles calls until standard input ends.
func RunEngine(dir string) error {
	newest, err := query.ParseOrder("created_on:desc")
	if err != nil {
		return fmt.Errorf("parse the order: %w", err)
	}
	lib, err := engine.Open(engine.Options{Dir: dir})
	if err != nil {
		return fmt.Errorf("open the engine: %w", err)
	}
	results, err := lib.Apply(context.Background(), []library.Definition{{
		Property: property, Owner: library.Owner{Install: "bench", Kind: library.KindProperty, Namespace: "bench", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 1},
	}})
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	if err == nil {
		err = child.Offer(&Engine{lib, newest, make([]byte, 0, 1<<20)}, os.Stdin, os.Stdout)
	}
	return errors.Join(err, lib.Close())
}

// Import imports the lines of a file with concurrent writers.
func (e *Engine) Import(c Command, a *Answer) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read the items: %w", err)
	}
	lines := slices.Collect(bytes.Lines(text))
	began := time.Now()
	var g errgroup.Group
	g.SetLimit(Writers)
	for batch := range slices.Chunk(lines, BatchItems) {
		g.Go(func() error { return e.write(batch) })
	}
	err = g.Wait()
	a.Elapsed = time.Since(began)
	return err
}

// write stores items. When write returns, the items are durable and visible.
func (e *Engine) write(lines [][]byte) error {
	muts := make([]library.Mutation, len(lines))
	for i, text := range lines {
		line, err := item.ParseLine(text, item.ParseOptions{AuthorKey: e.lib.AuthorKey()})
		if err != nil {
			return fmt.Errorf("read an item: %w", err)
		}
		muts[i] = library.Mutation{Put: line.Item, Units: line.Units}
	}
	outcomes, err := e.lib.Write(context.Background(), property, muts)
	for _, o := range outcomes {
		err = errors.Join(err, o.Err)
	}
	return err
}

// Search runs queries one after the other.
func (e *Engine) Search(c Command, a *Answer) error {
	var pages [][]byte
	for _, q := range c.Queries {
		parsed, err := query.Parse(q.Text)
		if err != nil {
			return fmt.Errorf("parse %s: %w", q.Text, err)
		}
		r := library.Read{Property: property, Query: parsed.Root, Limit: q.Limit, Into: e.buffer[:0]}
		if q.NewestFirst {
			r.Order = e.newest
		}
		if c.Forget {
			e.lib.Forget()
		}
		asked := time.Now()
		page, err := e.lib.Read(context.Background(), r)
		if err != nil {
			return fmt.Errorf("search %s: %w", q.Text, err)
		}
		a.Latencies = append(a.Latencies, time.Since(asked))
		a.Totals = append(a.Totals, page.Total)
		pages = append(pages, bytes.Clone(page.Items))
	}
	for _, page := range pages {
		var items []struct{ ID int64 }
		if err := json.Unmarshal(slices.Concat([]byte("["), page, []byte("]")), &items); err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		ids := make([]int64, len(items))
		for i, it := range items {
			ids[i] = it.ID
		}
		a.IDs = append(a.IDs, ids)
	}
	return nil
}
