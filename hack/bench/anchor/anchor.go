// Package anchor runs Vitrine's engine and Lucene as libraries, with the same items and the same queries. Each library runs in its own
// process, which receives calls over its standard input and output. The measured time is the time that the library itself needs, without
// HTTP and without the transport of results.
//
// Both libraries index the same fields, and each thread of an import can make its batch durable before it begins the next one. The index of
// Lucene is sorted by date, and it is merged into one segment before the first search. luceneutil, Lucene's own benchmark, was refused,
// because it runs only Lucene, with its own documents.
//
// The package may import child, load, hack/opensearch/node, the sample content, and Vitrine's domain and engine.
package anchor

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/opensearch/node"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Library is Vitrine's engine or Lucene, running in its own process.
type Library struct {
	*child.Server
	// Version is the version of the library, or "" for the engine.
	Version string
	dir     string
}

// AbsentError means that a library cannot be started on this machine.
type AbsentError struct{ Reason string }

// Error returns the reason.
func (e *AbsentError) Error() string { return "the library cannot be started: " + e.Reason }

// Query is a query for both libraries.
type Query struct {
	Text string
	// Tree is the query for Lucene.
	Tree *Tree
	// Limit is the number of items on the page; 0 requests only the total.
	Limit int
	// NewestFirst is true for the order by date, and false for the order by relevance.
	NewestFirst bool
}

// NewQuery returns a query in Vitrine's language.
func NewQuery(text string, limit int, newestFirst bool) (Query, error) {
	parsed, err := query.Parse(text)
	if err != nil {
		return Query{}, fmt.Errorf("parse %s: %w", text, err)
	}
	tree, err := newTree(parsed.Root)
	return Query{text, tree, limit, newestFirst}, err
}

// Command is the argument of a call.
type Command struct {
	// File contains the lines of an import.
	File string `json:",omitempty"`
	// Batch is the number of items that Lucene makes durable together. Each of the Writers threads imports one batch after the other. The
	// batches of the engine always have BatchItems items.
	Batch int `json:",omitempty"`
	// Queries are run one after the other.
	Queries []Query `json:",omitempty"`
	Way
}

// Way contains the options for a search.
type Way struct {
	// Forget makes the engine clear its caches before each query.
	Forget bool `json:",omitempty"`
	// OnePass makes Lucene find the page and the total together. Otherwise, it first finds the page, and may skip hits that cannot be on the
	// page. After that, it counts all hits.
	OnePass bool `json:",omitempty"`
}

// Answer is the result of a call. Its JSON form has durations in nanoseconds.
type Answer struct {
	// Elapsed is the time of an import.
	Elapsed time.Duration
	// Latencies, Totals and IDs have one element for each query, in order. The measured time of a query begins after the query is parsed,
	// and ends when the bytes of the items are in a buffer.
	Latencies []time.Duration
	Totals    []int64
	IDs       [][]int64
}

// Import imports a file of count items, one item per line, in batches (see Command.Batch). The measured time does not include reading the
// file, but the processor time does.
func (l *Library) Import(ctx context.Context, file string, count, batch int) (load.Result, error) {
	before, err := l.CPU()
	if err != nil {
		return load.Result{}, err
	}
	var a Answer
	if err := l.Call(ctx, "Import", Command{File: file, Batch: batch}, &a); err != nil {
		return load.Result{}, err
	}
	after, err := l.CPU()
	return load.Result{Requests: count, Elapsed: a.Elapsed, CPU: after - before}, err
}

// Search runs queries one after the other. Lucene merges its index into one segment before its first search.
func (l *Library) Search(ctx context.Context, queries []Query, how Way) (Answer, error) {
	var a Answer
	err := l.Call(ctx, "Search", Command{Queries: queries, Way: how}, &a)
	if err == nil && (len(a.Latencies) != len(queries) || len(a.Totals) != len(queries) || len(a.IDs) != len(queries)) {
		err = fmt.Errorf("call %s: %d results for %d queries", l.Name, len(a.Latencies), len(queries))
	}
	return a, err
}

// Size returns the size of the library on disk in bytes.
func (l *Library) Size() (int64, error) { return child.DiskUsage(l.dir) }

//go:embed Anchor.java
var program []byte

// heap is the size of the Java heap. The OpenSearch node has the same size.
const heap = "2g"

// StartLucene starts Lucene with an empty index, from the jars of OpenSearch. It fails with *AbsentError if there is no JDK or the jars are
// not available. dir must exist.
func StartLucene(ctx context.Context, dir string) (*Library, error) {
	java, jars, err := node.Libraries(ctx, node.Version3)
	if absent, ok := errors.AsType[*node.AbsentError](err); ok {
		return nil, &AbsentError{absent.Reason}
	}
	if err != nil {
		return nil, err
	}
	l := &Library{dir: filepath.Join(dir, "lucene")}
	for _, jar := range jars {
		if name, ok := strings.CutPrefix(filepath.Base(jar), "lucene-core-"); ok {
			l.Version = strings.TrimSuffix(name, ".jar")
		}
	}
	source := filepath.Join(dir, "Anchor.java")
	if err := os.WriteFile(source, program, 0o600); err != nil {
		return nil, fmt.Errorf("write the program that runs Lucene: %w", err)
	}
	// The command java compiles the source file in memory and runs it.
	l.Server, err = child.Serve(child.Spec{
		Name: "Lucene", Path: java, Output: l.dir + ".log",
		Args: []string{
			"-Xms" + heap, "-Xmx" + heap, "--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED",
			"-cp", strings.Join(jars, string(os.PathListSeparator)), source, l.dir, fieldsArgument(),
		},
	})
	return l, err
}

// StartEngine starts the engine with an empty store. dir must exist.
func StartEngine(dir string) (*Library, error) {
	l := &Library{dir: filepath.Join(dir, "engine")}
	var err error
	l.Server, err = child.Serve(child.Spec{
		Name: "the engine", Path: "/proc/self/exe", Args: []string{EngineMode, "-dir", l.dir}, Output: l.dir + ".log",
	})
	return l, err
}

// Agree returns nil if the totals and pages of two answers are equal. Otherwise, it returns an error about the first query for which they
// differ.
func Agree(queries []Query, engine, answer Answer) error {
	for i, q := range queries {
		if engine.Totals[i] != answer.Totals[i] {
			return fmt.Errorf("%s: totals of %d and %d items", q.Text, engine.Totals[i], answer.Totals[i])
		}
		if len(engine.IDs[i]) != len(answer.IDs[i]) {
			return fmt.Errorf("%s: pages of %d and %d items", q.Text, len(engine.IDs[i]), len(answer.IDs[i]))
		}
		for n, id := range engine.IDs[i] {
			if id != answer.IDs[i][n] {
				return fmt.Errorf("%s: at position %d, the items %d and %d", q.Text, n+1, id, answer.IDs[i][n])
			}
		}
	}
	return nil
}
