// Command bench compares Vitrine with other programs in one run: a bare net/http server that sends the same bytes, OpenSearch, and its
// percolator. It also compares Vitrine on OpenSearch with OpenSearch alone, which receives the same requests that Vitrine sends to it.
// Finally, it compares Vitrine's engine with Lucene, both as libraries. The results are ratios between processes that ran on the same
// machine in alternating rounds, so that they are meaningful even on a busy or slow machine.
//
//	make bench                       200,000 items, about ten minutes
//	make bench FULL=1                1,000,000 items
//	make bench CHECK=1               the quick run, which fails if a number is out of its range
//	cd hack/bench && go run . -items 20000               a small run during development
//
// The command needs Linux. It uses the OpenSearch node at OPENSEARCH_URL, or starts a node, which needs a JDK. Without a node and without a
// JDK, the command does not measure OpenSearch, and docs/benchmarks.md says so. Lucene runs from the jars of OpenSearch, and also needs a
// JDK. The command writes the results to docs/benchmarks.md and, as JSON, to docs/benchmarks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
)

// Exit codes.
const (
	exitOutOfRange = 1
	exitUnable     = 2
)

// settings are the flags.
type settings struct {
	scale scale

	docs       string
	dir        string
	keep       bool
	binary     string
	library    string
	flags      string
	opensearch string
	only       string
	check      bool
	render     bool
}

func main() {
	if ran, err := subject.Main(os.Args[1:], os.Stdin, os.Stdout); ran {
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			os.Exit(exitUnable)
		}
		return
	}
	s, err := parseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	inside := true
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		inside, err = run(ctx, s, os.Stdout)
		stop()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(exitUnable)
	}
	if !inside {
		os.Exit(exitOutOfRange)
	}
}

func parseFlags(args []string, output io.Writer) (settings, error) {
	s := settings{}
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(output)
	full := set.Bool("full", false, "a million items instead of 200,000")
	items := set.Int("items", 0, "another number of items, for development")
	set.StringVar(&s.docs, "docs", "../../docs", "the directory for benchmarks.md and benchmarks/; empty prints the page instead, which is the default with -items and -only")
	set.StringVar(&s.dir, "dir", "", "the directory for stores, which need some gigabytes (default: a new temporary directory)")
	set.BoolVar(&s.keep, "keep", false, "keep that directory")
	set.StringVar(&s.binary, "vitrine", "", "the binary to measure (default: built from this repository)")
	set.StringVar(&s.library, "library", "engine", "the value of --library for vitrine serve")
	set.StringVar(&s.flags, "flags", "", "more flags for vitrine serve, separated by spaces")
	set.StringVar(&s.opensearch, "url", os.Getenv("OPENSEARCH_URL"), "`URL` of an OpenSearch node without security (default: $OPENSEARCH_URL); if empty, a node is started; \"none\" leaves OpenSearch out")
	set.StringVar(&s.only, "only", "", "run only these parts, separated by commas: "+strings.Join(parts, ", "))
	set.BoolVar(&s.check, "check", false, "fail if a number is out of its range")
	set.BoolVar(&s.render, "render", false, "write the page again from the results in docs, without measuring")
	if err := set.Parse(args); err != nil {
		return s, err
	}
	if set.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if *items < 0 || *items > 0 && *items < minItems {
		return s, fmt.Errorf("-items %d: must be at least %d", *items, minItems)
	}
	if _, err := chosen(s.only); err != nil {
		return s, err
	}
	named := false
	set.Visit(func(f *flag.Flag) { named = named || f.Name == "docs" })
	if !named && (*items > 0 || s.only != "") {
		s.docs = "" // by default, do not save a run of only some parts or of another size
	}
	s.scale = scaleOf(*full, *items)
	return s, nil
}

// run measures and writes the results. With -check, it reports whether every number is in its range. Without -check, it always returns
// true.
func run(ctx context.Context, s settings, out io.Writer) (inside bool, err error) {
	var measured *report.Run
	if !s.render {
		if measured, err = measure(ctx, s, out); err != nil {
			return false, err
		}
	}
	if err := write(s, measured, out); err != nil || measured == nil || !s.check {
		return true, err
	}
	left := report.OutOfRange(measured)
	for _, l := range left {
		fmt.Fprintln(out, l)
	}
	return len(left) == 0, nil
}

// measure creates the working directory, runs the parts and removes the directory.
func measure(ctx context.Context, s settings, out io.Writer) (measured *report.Run, err error) {
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "vitrine-bench-"); err != nil {
			return nil, fmt.Errorf("create a directory: %w", err)
		}
	} else if s.dir, err = filepath.Abs(s.dir); err != nil {
		return nil, fmt.Errorf("find the directory: %w", err)
	}
	if !s.keep {
		defer os.RemoveAll(s.dir)
	}
	b, err := newSuite(ctx, s, out)
	if err != nil {
		return nil, err
	}
	// Stop the servers even if the run was interrupted.
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	return b.result, nil
}

// write saves the results and renders the page of all saved results.
func write(s settings, measured *report.Run, out io.Writer) error {
	if s.docs == "" {
		if measured == nil {
			return errors.New("-render needs -docs")
		}
		page, err := report.Page(measured)
		fmt.Fprint(out, page)
		return err
	}
	if measured != nil {
		if err := report.Save(s.docs, measured); err != nil {
			return err
		}
	}
	return report.Write(s.docs)
}
