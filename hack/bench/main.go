// Command bench writes docs/benchmarks.md and docs/growth.md from results of the benchmarks in this directory, which are in the Go benchmark
// format:
//
//	make bench               200,000 items, about ten minutes
//	make bench FULL=1        1,000,000 items
//	make bench CHECK=1       the quick run, which fails if a number is out of its range
//	make growth              one store that grows to 10,000,000 items
//	make cluster             a library on three OpenSearch nodes; it prints results, and writes no page
//
// During development, run some of the benchmarks with fewer items, and show the page about them:
//
//	cd hack/bench && go test -run '^$' -bench Pages -benchtime 1x -timeout 0 -args -items 20000 -url none | go run .
//
// The benchmarks compare Vitrine with other programs in one run: a bare net/http server that sends the same bytes, OpenSearch, and its
// percolator. They also compare Vitrine on OpenSearch with OpenSearch alone, which receives the same requests that Vitrine sends to it, and
// Vitrine's engine with Lucene, both as libraries. The programs run on the same machine in alternating rounds, so that their ratios are
// meaningful even on a busy or slow machine.
//
// The benchmarks need Linux and wrk. They use the OpenSearch node at OPENSEARCH_URL, or start a node, which needs a JDK. Lucene runs from
// the jars of OpenSearch, and also needs a JDK. Without a node and without a JDK, their parts do not run.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/vitrine-dev/vitrine/hack/bench/report"
)

func main() {
	docs := flag.String("docs", "", "save the results in this directory and write benchmarks.md; empty prints the page instead")
	full := flag.Bool("full", false, "save the results as those of the full run")
	growth := flag.Bool("growth", false, "the results are those of BenchmarkGrowth")
	check := flag.Bool("check", false, "fail if a number is out of its range; only the quick run has ranges")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *docs, *full, *growth, *check); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// run reads results and writes the page.
func run(from io.Reader, out io.Writer, docs string, full, growth, check bool) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	results, err := report.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	show, write, name := report.Page, report.Write, report.Results[1]
	switch {
	case growth:
		show, write, name = report.GrowthPage, report.WriteGrowth, report.GrowthResults
	case full:
		name = report.Results[0]
	}
	if docs == "" {
		page, err := show(results)
		fmt.Fprint(out, page)
		return err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(docs, name), text, 0o644), write(docs)); err != nil {
		return err
	}
	outside := 0
	if check && !full && !growth {
		for _, line := range report.OutOfRange(results) {
			fmt.Fprintln(out, line)
			outside++
		}
	}
	if outside > 0 {
		return fmt.Errorf("%d numbers are out of their ranges", outside)
	}
	return nil
}
