// Command parity holds the query language against a real OpenSearch node: the same items in both, the same queries to
// both, and total, ids and order must be equal.
//
//	go run ./hack/parity -url http://127.0.0.1:9200 [-corpus FILE]… [-n 2000] [-seed 1,2,3] [-family NAME] [-now TIME]
//	go run ./hack/parity -url http://127.0.0.1:9200 -queries FILE
//	go run ./hack/parity -url http://127.0.0.1:9200 -query 'love AND day'
//
// Queries are the curated ones of testdata/curated.txt, one for every order by a field, and, for each seed, -n generated
// ones over the grammar and what the corpus holds; or those of a file, one a line, such as filters that are to move over. A
// query goes to OpenSearch as it stands, unless something in it is this language's own: package querystring rewrites that.
// A query that fails is cut down to the shortest that still does. The corpus is testdata/messy.ndjson with the files given,
// or with the sample content where none is.
//
// The index has a random name and is deleted in the end. The exit code is 0 when every query is equal or a named
// exception, 1 when one is not, 2 when the run could not be made.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The exit codes.
const (
	exitDiffers = 1
	exitUnable  = 2
)

// defaultNow is the instant that `now` stands for, unless another is given, so that a run can be repeated.
const defaultNow = "2026-11-21T09:30:15.250Z"

// settings are the flags.
type settings struct {
	url     string
	corpora files
	seeds   seeds
	count   int
	family  string
	query   string
	queries string
	// canonical sends no query as it was written.
	canonical bool
	library   string
	now       time.Time
}

func main() {
	s, err := parseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		// A closed pipe, as behind head, must not end the run before the index is deleted.
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
		defer stop()
		var equal bool
		if equal, err = run(ctx, s, os.Stdout); err == nil && !equal {
			stop()
			os.Exit(exitDiffers)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "parity: %v\n", err)
		os.Exit(exitUnable)
	}
}

func parseFlags(args []string, output io.Writer) (settings, error) {
	s := settings{seeds: seeds{1}}
	set := flag.NewFlagSet("parity", flag.ContinueOnError)
	set.SetOutput(output)
	set.StringVar(&s.url, "url", os.Getenv("OPENSEARCH_URL"), "an OpenSearch node; default $OPENSEARCH_URL")
	set.Var(&s.corpora, "corpus", "a file of items, one bulk import line each; may be given more than once")
	set.Var(&s.seeds, "seed", "the seeds of the generator, with commas between")
	set.IntVar(&s.count, "n", 2000, "how many queries to generate for each seed")
	set.StringVar(&s.family, "family", "", "run only the families whose name contains this")
	set.StringVar(&s.query, "query", "", "compare this query alone and show what both sides make of it")
	set.StringVar(&s.queries, "queries", "", "compare the queries of this file, in the format of testdata/curated.txt, and no others")
	set.StringVar(&s.library, "library", engineLibrary, "what is held to OpenSearch: engine, with many small segments, or reference")
	set.BoolVar(&s.canonical, "canonical", false, "send every query in its canonical form, as a library sends composed ones")
	now := set.String("now", defaultNow, "what now stands for, RFC 3339")
	if err := set.Parse(args); err != nil {
		return s, err
	}
	if set.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q: a query is given with -query", set.Arg(0))
	}
	if s.url = strings.TrimSuffix(s.url, "/"); s.url == "" {
		return s, errors.New("no OpenSearch node: set OPENSEARCH_URL or -url to one, such as http://127.0.0.1:9200")
	}
	if s.library != engineLibrary && s.library != referenceLibrary {
		return s, fmt.Errorf("-library %q: there are %s and %s", s.library, engineLibrary, referenceLibrary)
	}
	if s.count < 0 {
		return s, fmt.Errorf("-n %d: give 0 or more", s.count)
	}
	var err error
	if s.now, err = time.Parse(time.RFC3339Nano, *now); err != nil {
		return s, fmt.Errorf("read -now: %w", err)
	}
	return s, nil
}

// files is a flag that may be given more than once.
type files []string

func (f *files) String() string { return strings.Join(*f, ",") }

func (f *files) Set(s string) error {
	*f = append(*f, s)
	return nil
}

// seeds is a flag that lists numbers.
type seeds []uint64

func (s *seeds) String() string {
	list := make([]string, len(*s))
	for i, n := range *s {
		list[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(list, ",")
}

func (s *seeds) Set(list string) error {
	*s = nil
	for item := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(item), 10, 64)
		if err != nil {
			return fmt.Errorf("read seed: %w", err)
		}
		*s = append(*s, n)
	}
	return nil
}

// run fills both sides and compares. It reports whether everything was equal or a named exception.
func run(ctx context.Context, s settings, out io.Writer) (equal bool, err error) {
	docs, err := loadCorpus(s.corpora)
	if err != nil {
		return false, err
	}
	theirs := newOracle(s.url)
	defer func() {
		// The index goes also when the run was interrupted.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if dropErr := theirs.drop(cleanup); dropErr != nil && err == nil {
			err = fmt.Errorf("delete the index: %w", dropErr)
		}
	}()
	if err := theirs.create(ctx); err != nil {
		return false, fmt.Errorf("create the index: %w", err)
	}
	if err := theirs.fill(ctx, docs); err != nil {
		return false, fmt.Errorf("fill the index: %w", err)
	}
	ours, err := newSubject(s.library, docs, s.now)
	if err != nil {
		return false, err
	}
	b := &bench{ours: ours, theirs: theirs, docs: docs, now: s.now, canonical: s.canonical}
	if s.query != "" {
		return b.show(ctx, s.query, out)
	}
	questions, err := gather(s, docs)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%d items, %d queries\n", len(docs), len(questions))
	return b.judgeAll(ctx, questions, out)
}

// gather returns the questions that the settings ask for, curated ones first.
func gather(s settings, docs []document) ([]question, error) {
	var all []question
	if s.queries != "" {
		text, err := os.ReadFile(s.queries)
		if err != nil {
			return nil, fmt.Errorf("read the queries: %w", err)
		}
		all = questions(string(text))
	} else {
		all = append(questions(curated), orders()...)
		for _, seed := range s.seeds {
			g := newGenerator(seed, docs)
			for range s.count {
				all = append(all, g.next())
			}
		}
	}
	var wanted []question
	for _, q := range all {
		if strings.Contains(q.family, s.family) {
			wanted = append(wanted, q)
		}
	}
	return wanted, nil
}
