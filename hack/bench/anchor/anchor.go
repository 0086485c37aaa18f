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
	"slices"
	"strings"
	"testing"
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
func NewQuery(tb testing.TB, text string, limit int, newestFirst bool) Query {
	tb.Helper()
	parsed, err := query.Parse(text)
	if err != nil {
		tb.Fatalf("parse %s: %v", text, err)
	}
	tree, err := newTree(parsed.Root)
	if err != nil {
		tb.Fatal(err)
	}
	return Query{text, tree, limit, newestFirst}
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
func (l *Library) Import(tb testing.TB, file string, count, batch int) load.Result {
	tb.Helper()
	before := l.CPU(tb)
	var a Answer
	l.Call(tb, "Import", Command{File: file, Batch: batch}, &a)
	return load.Result{Requests: count, Elapsed: a.Elapsed, CPU: l.CPU(tb) - before}
}

// Search runs queries one after the other. Lucene merges its index into one segment before its first search.
func (l *Library) Search(tb testing.TB, queries []Query, how Way) Answer {
	tb.Helper()
	var a Answer
	l.Call(tb, "Search", Command{Queries: queries, Way: how}, &a)
	if len(a.Latencies) != len(queries) || len(a.Totals) != len(queries) || len(a.IDs) != len(queries) {
		tb.Fatalf("call %s: %d results for %d queries", l.Name, len(a.Latencies), len(queries))
	}
	return a
}

// Size returns the size of the library on disk in bytes.
func (l *Library) Size(tb testing.TB) int64 { return child.DiskUsage(tb, l.dir) }

//go:embed Anchor.java
var program []byte

// heap is the size of the Java heap. The OpenSearch node has the same size.
const heap = "2g"

// StartLucene starts Lucene with an empty index in dir, from the jars of OpenSearch. It skips the test if there is no JDK or the jars are
// not available.
func StartLucene(tb testing.TB, dir string) *Library {
	tb.Helper()
	java, jars, err := node.Libraries(context.Background(), node.Version3)
	if absent, ok := errors.AsType[*node.AbsentError](err); ok {
		tb.Skipf("DID NOT RUN: %v", absent)
	}
	source := filepath.Join(dir, "Anchor.java")
	if err := errors.Join(err, os.WriteFile(source, program, 0o600)); err != nil {
		tb.Fatal(err)
	}
	l := &Library{dir: filepath.Join(dir, "lucene")}
	core := slices.IndexFunc(jars, func(jar string) bool { return strings.HasPrefix(filepath.Base(jar), "lucene-core-") })
	l.Version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[core]), "lucene-core-"), ".jar")
	// The command java compiles the source file in memory and runs it.
	l.Server = child.Serve(tb, child.Spec{
		Name: "Lucene", Path: java, Output: l.dir + ".log",
		Args: []string{
			"-Xms" + heap, "-Xmx" + heap, "--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED",
			"-cp", strings.Join(jars, string(os.PathListSeparator)), source, l.dir, fieldsArgument(),
		},
	})
	return l
}

// StartEngine starts the engine with an empty store in dir.
func StartEngine(tb testing.TB, dir string) *Library {
	tb.Helper()
	l := &Library{dir: filepath.Join(dir, "engine")}
	l.Server = child.Serve(tb, child.Spec{
		Name: "the engine", Path: "/proc/self/exe", Args: []string{EngineMode, l.dir}, Output: l.dir + ".log",
	})
	return l
}

// Agree returns nil if the totals and pages of two answers are equal. Otherwise, it returns an error about the first query for which they
// differ.
func Agree(queries []Query, a, b Answer) error {
	for i, q := range queries {
		if a.Totals[i] != b.Totals[i] {
			return fmt.Errorf("%s: totals of %d and %d items", q.Text, a.Totals[i], b.Totals[i])
		}
		if !slices.Equal(a.IDs[i], b.IDs[i]) {
			return fmt.Errorf("%s: the pages %v and %v", q.Text, a.IDs[i], b.IDs[i])
		}
	}
	return nil
}
