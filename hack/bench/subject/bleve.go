package subject

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/single"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/item"
	ours "github.com/vitrine-dev/vitrine/server/query"
)

// Bleve is a Bleve index in a separate process. The benchmark calls it over standard input and output, so the measured time of a call does
// not include HTTP.
type Bleve struct {
	*child.Server
	dir string
}

const bleveMode = "run-bleve"

// BleveCommand is one command: import a number of items, or run queries.
type BleveCommand struct {
	First, Count int
	Queries      []string
	NewestFirst  bool
}

// BleveAnswer is the result of a command.
type BleveAnswer struct {
	Elapsed   time.Duration
	Latencies []time.Duration
	Totals    []int64
}

// StartBleve starts a process with an empty index.
func StartBleve(dir string) (*Bleve, error) {
	path := filepath.Join(dir, "bleve")
	s, err := child.Serve(child.Spec{Name: "Bleve", Path: self, Args: []string{bleveMode, "-dir", path}, Output: path + ".log"})
	if err != nil {
		return nil, err
	}
	return &Bleve{s, path}, nil
}

// Size returns the size of the index on disk in bytes.
func (b *Bleve) Size() (int64, error) { return child.DiskUsage(b.dir) }

// Memory returns the memory use of the process.
func (b *Bleve) Memory() (child.Memory, error) { return b.Child.Memory(b.dir) }

func (b *Bleve) call(ctx context.Context, method string, c BleveCommand) (load.Result, []int64, error) {
	before, err := b.CPU()
	if err != nil {
		return load.Result{}, nil, err
	}
	var a BleveAnswer
	if err := b.Call(ctx, method, c, &a); err != nil {
		return load.Result{}, nil, err
	}
	after, err := b.CPU()
	return load.Result{Requests: max(c.Count, len(c.Queries)), Elapsed: a.Elapsed, CPU: after - before, Latencies: a.Latencies}, a.Totals, err
}

// Import indexes items in batches. Each batch is on disk before the next batch begins. The time does not include the preparation of the
// items.
func (b *Bleve) Import(ctx context.Context, first, count int) (load.Result, error) {
	r, _, err := b.call(ctx, "Import", BleveCommand{First: first, Count: count})
	return r, err
}

// Search runs queries sequentially, newest first or by relevance, and returns the totals.
func (b *Bleve) Search(ctx context.Context, queries []string, newestFirst bool) (load.Result, []int64, error) {
	return b.call(ctx, "Search", BleveCommand{Queries: queries, NewestFirst: newestFirst})
}

// BleveServer handles the calls in the separate process.
type BleveServer struct {
	index bleve.Index
	items *sample.Library
}

// RunBleve is the main function of the process with the index. It handles calls until stdin ends.
func RunBleve(args []string, stdin io.Reader, stdout io.Writer) error {
	set := flag.NewFlagSet(bleveMode, flag.ContinueOnError)
	dir := set.String("dir", "", "directory of the index")
	if err := set.Parse(args); err != nil {
		return err
	}
	m, err := bleveMapping()
	if err != nil {
		return err
	}
	index, err := bleve.New(*dir, m)
	if err != nil {
		return fmt.Errorf("create the index: %w", err)
	}
	return errors.Join(child.Offer(&BleveServer{index, sample.NewLibrary()}, stdin, stdout), index.Close())
}

const (
	textAnalyzer    = "words"
	keywordAnalyzer = "whole"
	sourceField     = "source"
)

// bleveMapping returns the mapping of the fields in Vitrine's catalogue of fields. All values are indexed in lower case. Texts are split
// into words by UAX #29, and keywords are not split. The JSON of the item is stored, but not indexed. Only sort fields have doc values.
func bleveMapping() (mapping.IndexMapping, error) {
	m := bleve.NewIndexMapping()
	err := errors.Join(
		m.AddCustomAnalyzer(textAnalyzer, map[string]any{"type": custom.Name, "tokenizer": unicode.Name, "token_filters": []string{lowercase.Name}}),
		m.AddCustomAnalyzer(keywordAnalyzer, map[string]any{"type": custom.Name, "tokenizer": single.Name, "token_filters": []string{lowercase.Name}}),
	)
	if err != nil {
		return nil, fmt.Errorf("create the analyzers: %w", err)
	}
	doc := bleve.NewDocumentStaticMapping()
	add := func(name string, t ours.Type) {
		f := bleve.NewKeywordFieldMapping()
		switch t {
		case ours.Text:
			f = bleve.NewTextFieldMapping()
			f.Analyzer = textAnalyzer
		case ours.Keyword:
			f = bleve.NewTextFieldMapping()
			f.Analyzer = keywordAnalyzer
			f.IncludeTermVectors = false
		case ours.Boolean:
			f = bleve.NewBooleanFieldMapping()
		case ours.Long, ours.Double, ours.Date:
			f = bleve.NewNumericFieldMapping()
		}
		f.Name, f.Store, f.IncludeInAll = name, false, false
		f.DocValues = name == "created_on" || name == "id"
		doc.AddFieldMappingsAt(name, f)
	}
	for _, f := range ours.Fields() {
		add(f.Name, f.Type)
	}
	for _, dynamic := range sample.DynamicFields() {
		add(dynamic, ours.Keyword)
	}
	add(allField, ours.Text)
	source := bleve.NewTextFieldMapping()
	source.Index, source.Store, source.IncludeInAll, source.DocValues = false, true, false, false
	doc.AddFieldMappingsAt(sourceField, source)
	m.DefaultMapping = doc
	m.IndexDynamic, m.StoreDynamic, m.DocValuesDynamic = false, false, false
	return m, nil
}

// allField contains the texts that a word without a field name searches.
const allField = "all"

// Import indexes items in batches of 1,000. Each batch is durable before the next batch begins.
func (s *BleveServer) Import(c BleveCommand, a *BleveAnswer) error {
	const batch = 1000
	lines := make([][]byte, c.Count)
	for i := range lines {
		lines[i] = s.items.Item(c.First + i)
	}
	began := time.Now()
	for chunk := range slices.Chunk(lines, batch) {
		b := s.index.NewBatch()
		for _, text := range chunk {
			id, doc, err := bleveDocument(text)
			if err == nil {
				err = b.Index(id, doc)
			}
			if err != nil {
				return fmt.Errorf("index an item: %w", err)
			}
		}
		if err := s.index.Batch(b); err != nil {
			return fmt.Errorf("index a batch: %w", err)
		}
	}
	a.Elapsed = time.Since(began)
	return nil
}

// bleveDocument returns the values of an item that Vitrine indexes.
func bleveDocument(text []byte) (id string, doc map[string]any, err error) {
	line, err := item.ParseLine(text, item.ParseOptions{AuthorKey: []byte("bench")})
	if err != nil {
		return "", nil, err
	}
	doc = map[string]any{sourceField: string(text)}
	for f, v := range line.Item.Values(line.Units, nil, line.Item.Tags) {
		name := f.Name
		if name == ours.AllField {
			name = allField
		}
		var value any
		switch f.Type {
		case ours.Long, ours.Date:
			value = float64(v.Int)
		case ours.Double:
			value = v.Float
		case ours.Boolean:
			value = v.Int != 0
		case ours.Keyword, ours.Text:
			value = v.Str
		}
		list, _ := doc[name].([]any)
		doc[name] = append(list, value)
	}
	return fmt.Sprint(line.Item.ID), doc, nil
}

// Search runs queries sequentially.
func (s *BleveServer) Search(c BleveCommand, a *BleveAnswer) error {
	began := time.Now()
	for _, text := range c.Queries {
		parsed, err := ours.Parse(text)
		if err != nil {
			return fmt.Errorf("parse %s: %w", text, err)
		}
		q, err := bleveQuery(parsed.Root)
		if err != nil {
			return fmt.Errorf("translate %s: %w", text, err)
		}
		r := bleve.NewSearchRequestOptions(q, PageSize, 0, false)
		r.Fields = []string{sourceField}
		if c.NewestFirst {
			r.SortBy([]string{"-created_on", "-id"})
		}
		asked := time.Now()
		result, err := s.index.Search(r)
		if err != nil {
			return fmt.Errorf("search %s: %w", text, err)
		}
		a.Latencies = append(a.Latencies, time.Since(asked))
		a.Totals = append(a.Totals, int64(result.Total))
	}
	a.Elapsed = time.Since(began)
	return nil
}

// bleveQuery translates the queries of the benchmarks to Bleve.
func bleveQuery(n ours.Node) (query.Query, error) {
	switch n := n.(type) {
	case ours.Bool:
		b := bleve.NewBooleanQuery()
		for _, c := range n.Clauses {
			q, err := bleveQuery(c.Node)
			if err != nil {
				return nil, err
			}
			switch c.Occur {
			case ours.Must:
				b.AddMust(q)
			case ours.MustNot:
				b.AddMustNot(q)
			case ours.Should:
				b.AddShould(q)
			}
		}
		return b, nil
	case ours.Term:
		return bleveValue(n.Field.Name, n.Text)
	case ours.Phrase:
		q := bleve.NewMatchPhraseQuery(n.Text)
		q.Analyzer = textAnalyzer
		q.SetField(bleveField(n.Field.Name))
		return q, nil
	case ours.Wildcard:
		q := bleve.NewWildcardQuery(n.Pattern)
		q.SetField(bleveField(n.Field.Name))
		return q, nil
	case ours.Fuzzy:
		q := bleve.NewFuzzyQuery(n.Text)
		q.SetFuzziness(n.Edits)
		q.SetField(bleveField(n.Field.Name))
		return q, nil
	case ours.Range:
		f, _ := ours.Lookup(n.Field.Name)
		lo, hi, err := ours.Span(n, f, time.Unix(0, 0))
		if err != nil {
			return nil, err
		}
		from, to, inclusive := float64(lo), float64(hi), true
		q := bleve.NewNumericRangeInclusiveQuery(&from, &to, &inclusive, &inclusive)
		q.SetField(f.Name)
		return q, nil
	}
	return nil, fmt.Errorf("%s: no translation", n)
}

// bleveField returns the name of a field in the index.
func bleveField(name string) string {
	if name == "" {
		return allField
	}
	f, _ := ours.Lookup(name)
	return f.Name
}

// bleveValue returns a query for one value. The type of the field determines the kind of the query.
func bleveValue(field, text string) (query.Query, error) {
	f, _ := ours.Lookup(field)
	switch {
	case field == "" || f.Type == ours.Text:
		q := bleve.NewMatchQuery(text)
		// Set the analyzer, because Bleve does not find the analyzer of a field whose name contains dots.
		q.Analyzer = textAnalyzer
		q.SetField(bleveField(field))
		return q, nil
	case f.Type == ours.Long:
		var value float64
		if _, err := fmt.Sscan(text, &value); err != nil {
			return nil, fmt.Errorf("read a number: %w", err)
		}
		inclusive := true
		q := bleve.NewNumericRangeInclusiveQuery(&value, &value, &inclusive, &inclusive)
		q.SetField(f.Name)
		return q, nil
	case f.Type == ours.Boolean:
		q := bleve.NewBoolFieldQuery(text == "true")
		q.SetField(f.Name)
		return q, nil
	}
	q := bleve.NewTermQuery(text)
	q.SetField(f.Name)
	return q, nil
}
