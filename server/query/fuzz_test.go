package query_test

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

// patience is the maximum duration of one call. A query within the limits takes milliseconds.
const patience = 5 * time.Second

// addSeeds adds every line of testdata/seeds.txt to a fuzz target.
func addSeeds(f *testing.F) {
	f.Helper()
	file, err := os.Open("testdata/seeds.txt")
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		f.Add(lines.Text())
	}
	if err := lines.Err(); err != nil {
		f.Fatal(err)
	}
}

// checkPlace checks that the position of an error is within the query, and that the quoted text is at that position.
func checkPlace(t *testing.T, q string, err error) {
	t.Helper()
	var syntax *query.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("%q: %v is no *SyntaxError", q, err)
	}
	if !utf8.ValidString(q) {
		return
	}
	src := []rune(q)
	if syntax.Position < 0 || syntax.Position > len(src) {
		t.Fatalf("%q: position %d of %d", q, syntax.Position, len(src))
	}
	if rest := string(src[syntax.Position:]); !syntax.Limit && (!strings.HasPrefix(rest, syntax.Near) || syntax.Near == "" && rest != "") {
		t.Fatalf("%q: near %q at %d, where %q stands", q, syntax.Near, syntax.Position, rest)
	}
}

func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, q string) {
		start := time.Now()
		parsed, err := query.Parse(q)
		if err != nil {
			checkPlace(t, q, err)
			return
		}
		canonical := parsed.String()
		again, err := query.Parse(canonical)
		var syntax *query.SyntaxError
		switch {
		case errors.As(err, &syntax) && syntax.Limit:
			// The canonical form may exceed a limit, because it can be longer than the query: it repeats a field before parentheses for every clause
			// in them.
		case err != nil:
			t.Fatalf("%q: its canonical form %q: %v", q, canonical, err)
		default:
			if diff := cmp.Diff(parsed.Root, again.Root); diff != "" {
				t.Fatalf("%q (-parsed +canonical):\n%s", q, diff)
			}
		}
		if took := time.Since(start); took > patience {
			t.Fatalf("%q took %s", q, took)
		}
	})
}

func FuzzCheck(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, q string) {
		parsed, err := query.Parse(q)
		if err != nil {
			return
		}
		start := time.Now()
		_, err = query.Check(parsed.Root, query.Private)
		if err != nil {
			checkPlace(t, q, err)
		}
		_, public := query.Check(parsed.Root, query.Public)
		var forbidden *query.ForbiddenFieldError
		if errors.As(err, &forbidden) || (public == nil) != (err == nil) && !errors.As(public, &forbidden) {
			t.Fatalf("%q: private %v, public %v", q, err, public)
		}
		query.UsesNow(parsed.Root)
		query.Names(parsed.Root)
		if took := time.Since(start); took > patience {
			t.Fatalf("%q took %s", q, took)
		}
	})
}

func FuzzParseOrder(f *testing.F) {
	for _, s := range []string{"created_on:desc", "id:asc,_score:desc", "random", "submission.a:b:asc", " author.id:desc , id:asc", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		order, err := query.ParseOrder(s)
		if err != nil {
			checkPlace(t, s, err)
			return
		}
		again, err := query.ParseOrder(order.String())
		if diff := cmp.Diff(order, again); err != nil || diff != "" {
			t.Fatalf("%q: %v (-first +again):\n%s", s, err, diff)
		}
	})
}

func FuzzSpan(f *testing.F) {
	for _, s := range []string{"2024", "2024-05-21T10:05:07.123+02:00", "now-1M/w+2h", "2024-01-31||+1M/d", "1e3", "-5.50", "true", "9223372036854775808"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range []string{"id", "featured", "created_on"} {
			field, _ := query.Lookup(name)
			n := query.Term{Text: s}
			lo, hi, err := query.Span(n, field, now)
			if err != nil {
				continue
			}
			b := query.Bound{Text: s, Inclusive: true}
			from, _, err1 := query.Span(query.Range{From: b, To: query.Bound{Open: true}}, field, now)
			_, to, err2 := query.Span(query.Range{From: query.Bound{Open: true}, To: b}, field, now)
			if err1 != nil || err2 != nil || lo <= hi && (lo != from || hi != to) {
				t.Fatalf("%s %q: [%d, %d], its bounds %d (%v) and %d (%v)", name, s, lo, hi, from, err1, to, err2)
			}
		}
	})
}
