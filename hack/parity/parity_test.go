package parity

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/internal/cli/textinput"
)

// settings are the flags of TestParity.
type settings struct {
	url, corpora, family, query, queries, library string
	seed                                          uint64
	seeds, count                                  int
	canonical                                     bool
	now                                           time.Time
}

var flags settings

func init() {
	flag.StringVar(&flags.url, "url", "", "an OpenSearch node without security; TestParity is skipped without one")
	flag.StringVar(&flags.corpora, "corpus", "", "files of items, one bulk import line each, separated by commas")
	flag.Uint64Var(&flags.seed, "seed", 1, "the first seed of the generator")
	flag.IntVar(&flags.seeds, "seeds", 1, "how many seeds to generate queries with")
	flag.IntVar(&flags.count, "generate", 2000, "how many queries to generate for each seed")
	flag.StringVar(&flags.family, "family", "", "compare only the families whose name contains this")
	flag.StringVar(&flags.query, "query", "", "compare only this query, and show how both sides evaluate it")
	flag.StringVar(&flags.queries, "queries", "", "compare the queries of this file, in the format of testdata/curated.txt, and no others")
	flag.StringVar(&flags.library, "library", "engine", "the library to compare: engine, with many small segments, reference, or opensearch, on the same node")
	flag.BoolVar(&flags.canonical, "canonical", false, "send every query in its canonical form, as a library sends composed ones")
	flag.TextVar(&flags.now, "now", time.Date(2026, time.November, 21, 9, 30, 15, 250e6, time.UTC), "the time of now in queries, RFC 3339")
}

// TestParity compares a library with the OpenSearch node at -url.
func TestParity(t *testing.T) {
	if flags.url == "" {
		t.Skip("needs an OpenSearch node: make parity")
	}
	// Handle signals, because an interrupted run must delete its index too.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b, err := newBench(ctx, t, flags)
	if err != nil {
		t.Fatal(err)
	}
	if flags.query != "" {
		equal, err := b.show(ctx, flags.query, os.Stdout)
		if err != nil || !equal {
			t.Fatalf("the results differ, or there are none: %v", err)
		}
		return
	}
	questions, err := gather(flags, b.docs)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.judgeAll(ctx, questions)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range r.failures {
		t.Error(line)
	}
	fmt.Printf("%d items, %d queries\n", len(b.docs), len(questions))
	r.print(os.Stdout)
}

// newBench returns a bench with the corpus on both sides. The index of the oracle is deleted when the test ends.
func newBench(ctx context.Context, t testing.TB, s settings) (*bench, error) {
	var paths []string
	if s.corpora != "" {
		paths = strings.Split(s.corpora, ",")
	}
	docs, err := loadCorpus(paths)
	if err != nil {
		return nil, err
	}
	b := &bench{
		docs: docs, now: s.now, canonical: s.canonical, theirs: newOracle(strings.TrimSuffix(s.url, "/")), exceptions: exceptions(),
	}
	version, err := b.theirs.version(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the version of OpenSearch: %w", err)
	}
	b.old = strings.HasPrefix(version, "2.")
	switch s.library {
	case "engine":
		b.ours, err = newSegments(docs, s.now)
	case "reference":
		b.ours = newWalker(docs, s.now)
	case "opensearch":
		var lib *whole
		if lib, err = newOpenSearch(ctx, b.theirs.url, b.theirs.index, docs, s.now); err == nil {
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				if err := errors.Join(lib.Close(), b.theirs.do(ctx, http.MethodDelete, "/"+b.theirs.index+"-*", nil, nil)); err != nil {
					t.Error(err)
				}
			})
			b.ours, b.exceptions = lib, clusterExceptions()
		}
	default:
		err = fmt.Errorf("-library %q: must be engine, reference or opensearch", s.library)
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.theirs.drop(ctx); err != nil {
			t.Errorf("delete the index: %v", err)
		}
	})
	if err := b.theirs.create(ctx); err != nil {
		return nil, fmt.Errorf("create the index: %w", err)
	}
	if err := b.theirs.fill(ctx, docs); err != nil {
		return nil, fmt.Errorf("fill the index: %w", err)
	}
	return b, nil
}

// gather returns the questions that the settings select: those of a file, or the curated questions followed by generated ones.
func gather(s settings, docs []document) ([]question, error) {
	var all []question
	if s.queries != "" {
		text, err := textinput.ReadFile(s.queries)
		if err != nil {
			return nil, fmt.Errorf("read the queries: %w", err)
		}
		all = questions(string(text))
	} else {
		all = append(questions(curated), orders()...)
		for i := range s.seeds {
			g := newGenerator(s.seed+uint64(i), docs)
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

// TestFilesWithMark checks that the files of the flags -queries and -corpus can have a byte order mark.
func TestFilesWithMark(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("\uFEFF"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("text:beach\n")
	asked, err := gather(settings{queries: file}, nil)
	if err != nil || len(asked) != 1 || asked[0].text != "text:beach" {
		t.Errorf("questions %+v, %v", asked, err)
	}
	write(`{"id":7,"content_type":"text","caption":"beach"}` + "\n")
	if docs, err := readFile(file); err != nil || len(docs) != 1 || docs[0].id != 7 {
		t.Errorf("documents %+v, %v", docs, err)
	}
}
