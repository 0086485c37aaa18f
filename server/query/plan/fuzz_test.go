package plan_test

import (
	"bufio"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// FuzzBuild checks that no query makes Build panic or take long, and that the plans have the properties that plan.go documents.
func FuzzBuild(f *testing.F) {
	file, err := os.Open("../testdata/seeds.txt")
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
	f.Fuzz(func(t *testing.T, q string) {
		parsed, err := query.Parse(q)
		if err != nil {
			return
		}
		start := time.Now()
		p, err := plan.Build(parsed.Root, options())
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("%q took %s", q, took)
		}
		if err != nil {
			var syntax *query.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("%q: %v is no *SyntaxError", q, err)
			}
			return
		}
		leaves := 0
		hold(t, q, p.Root, &leaves)
		if leaves > query.MaxClauses+query.MaxExpansion {
			t.Fatalf("%q: %d leaves", q, leaves)
		}
	})
}

// hold checks the properties that plan.go documents for a node and all nodes below it.
func hold(t *testing.T, q string, n plan.Node, leaves *int) {
	t.Helper()
	all := func(nodes ...plan.Node) {
		for _, n := range nodes {
			hold(t, q, n, leaves)
		}
	}
	*leaves++
	switch n := n.(type) {
	case plan.Bool:
		*leaves--
		if len(n.Must)+len(n.Should) == 0 {
			t.Fatalf("%q: a group of prohibited clauses alone", q)
		}
		all(n.Must...)
		all(n.Should...)
		all(n.MustNot...)
	case plan.DisMax:
		*leaves--
		if len(n.Nodes) < 2 {
			t.Fatalf("%q: DisMax over %d nodes", q, len(n.Nodes))
		}
		all(n.Nodes...)
	case plan.Boost:
		*leaves--
		all(n.Node)
	case plan.Const:
		*leaves--
		if _, everything := n.Node.(plan.All); !everything {
			all(n.Node)
		}
	case plan.All:
		*leaves-- // do not count it, because Build adds an All to groups and to _missing_
	case plan.IntRange:
		if n.Lo > n.Hi {
			t.Fatalf("%q: %d to %d", q, n.Lo, n.Hi)
		}
	case plan.FloatRange:
		if !(n.Lo <= n.Hi) {
			t.Fatalf("%q: %g to %g", q, n.Lo, n.Hi)
		}
	case plan.Phrase:
		if len(n.Words) < 2 || n.Words[0].Position != 0 {
			t.Fatalf("%q: phrase %v", q, n.Words)
		}
	case plan.Fuzzy:
		if n.Edits < 0 || n.Edits > 2 {
			t.Fatalf("%q: %d edits", q, n.Edits)
		}
	case plan.Pattern:
		if n.Automaton == nil {
			t.Fatalf("%q: no automaton", q)
		}
	case nil:
		t.Fatalf("%q: a nil node", q)
	}
}
