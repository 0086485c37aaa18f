package eval_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// randomDoc generates a document from a small vocabulary.
func randomDoc(rng *rand.Rand, id int64) *eval.Doc {
	vocabulary := strings.Fields("summer sumer beach beech sunset city red rad the of")
	var words []string
	for range rng.IntN(12) {
		words = append(words, vocabulary[min(rng.IntN(len(vocabulary)), rng.IntN(len(vocabulary)))])
	}
	list := []pair{str(text, strings.Join(words, " ")), {truth, query.Value{Int: int64(rng.IntN(2))}}}
	for range rng.IntN(3) {
		list = append(list, str(keyword, vocabulary[rng.IntN(len(vocabulary))]))
	}
	return eval.NewDoc(id, int64(rng.IntN(10)), pairs(list...))
}

// rankedPlans returns plans that together need every kind of statistics.
func rankedPlans() []plan.Node {
	word := func(s string) plan.Node { return plan.Term{Field: text, Text: s} }
	return []plan.Node{
		word("summer"),
		plan.Bool{Should: []plan.Node{word("beach"), word("zebra"), phrase(2, "beach", "summer")}},
		plan.Fuzzy{Field: text, Text: "sumer", Edits: 2, MaxExpansions: 3},
		plan.Fuzzy{Field: keyword, Text: "red", Edits: 1, MaxExpansions: 50},
		plan.Term{Field: truth, Text: "true"},
		plan.Bool{Should: []plan.Node{word("beech"), plan.Fuzzy{Field: text, Text: "beach", Edits: 1, MaxExpansions: 50}}},
	}
}

func scores(t *testing.T, c *eval.Corpus, n plan.Node) map[int64]float32 {
	t.Helper()
	m, err := c.Compile(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	hits, err := m.Search(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[int64]float32{}
	for _, h := range hits {
		out[h.Doc.ID()] = h.Score
	}
	return out
}

// TestConcurrentReaders matches and ranks documents in several goroutines.
func TestConcurrentReaders(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	c := eval.NewCorpus()
	for id := range int64(300) {
		c.Put(randomDoc(rng, id))
	}
	want := make([]map[int64]float32, len(rankedPlans()))
	for i, n := range rankedPlans() {
		want[i] = scores(t, c, n)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, n := range rankedPlans() {
				if diff := cmp.Diff(want[i], scores(t, c, n)); diff != "" {
					t.Errorf("plan %d: %s", i, diff)
				}
			}
		})
	}
	wg.Wait()
}

// countdown is a context that ends after a number of calls of Err.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestInterruption(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	c := eval.NewCorpus()
	for id := range int64(2000) {
		c.Put(randomDoc(rng, id))
	}
	m, err := c.Compile(t.Context(), plan.All{})
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("out of time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := m.Search(ctx); !errors.Is(err, cause) {
		t.Errorf("walk: error %v", err)
	}
	if _, err := c.Compile(ctx, plan.Term{Field: text, Text: "summer"}); !errors.Is(err, cause) {
		t.Errorf("statistics: error %v", err)
	}
	if _, err := eval.Explain(ctx, c, plan.Term{Field: text, Text: "summer"}, c.Doc(1)); !errors.Is(err, cause) {
		t.Errorf("explanation: error %v", err)
	}
	// Let the context end during the walk.
	late := &countdown{Context: t.Context(), left: 3}
	if hits, err := m.Search(late); hits != nil || err == nil {
		t.Errorf("walk: %d hits, error %v", len(hits), err)
	}
	// An interrupted search must not affect later searches.
	if got := scores(t, c, plan.Term{Field: text, Text: "summer"}); len(got) == 0 {
		t.Error("nothing is found afterwards")
	}
}

func TestUnknownNode(t *testing.T) {
	c := eval.NewCorpus()
	for name, n := range map[string]plan.Node{
		"at the root": nil,
		"required":    plan.Bool{Must: []plan.Node{nil}},
		"optional":    plan.Bool{Should: []plan.Node{nil}},
		"prohibited":  plan.Bool{Must: []plan.Node{plan.All{}}, MustNot: []plan.Node{nil}},
		"constant":    plan.Const{Node: plan.Boost{}},
		"best of":     plan.DisMax{Nodes: []plan.Node{nil}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Compile(t.Context(), n); err == nil {
				t.Error("no error")
			}
		})
	}
}

// naive evaluates a plan of terms and groups on the words of a document, without scores.
func naive(n plan.Node, words map[string]bool) bool {
	switch n := n.(type) {
	case plan.Term:
		return words[n.Text]
	case plan.Boost:
		return naive(n.Node, words)
	case plan.Const:
		return naive(n.Node, words)
	case plan.DisMax:
		for _, m := range n.Nodes {
			if naive(m, words) {
				return true
			}
		}
		return false
	case plan.Bool:
		matched := len(n.Must) > 0
		for _, m := range n.Must {
			if !naive(m, words) {
				return false
			}
		}
		for _, m := range n.MustNot {
			if naive(m, words) {
				return false
			}
		}
		for _, m := range n.Should {
			matched = matched || naive(m, words)
		}
		return matched
	}
	return true // All
}

func randomPlan(rng *rand.Rand, depth int) plan.Node {
	if depth == 0 || rng.IntN(4) == 0 {
		if rng.IntN(9) == 0 {
			return plan.All{}
		}
		return plan.Term{Field: text, Text: string(rune('a' + rng.IntN(5)))}
	}
	list := func(most int) (nodes []plan.Node) {
		for range rng.IntN(most + 1) {
			nodes = append(nodes, randomPlan(rng, depth-1))
		}
		return nodes
	}
	switch rng.IntN(6) {
	case 0:
		return plan.Boost{Node: randomPlan(rng, depth-1), Factor: float32(rng.IntN(3))}
	case 1:
		return plan.Const{Node: randomPlan(rng, depth-1), Score: 2}
	case 2:
		return plan.DisMax{Nodes: list(3)}
	default:
		return plan.Bool{Must: list(2), Should: list(3), MustNot: list(1)}
	}
}

// FuzzGroups compares the matches of groups with a naive evaluation.
func FuzzGroups(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 5))
		c := eval.NewCorpus()
		words := map[int64]map[string]bool{}
		for id := range int64(8) {
			words[id] = map[string]bool{}
			var list []string
			for range rng.IntN(4) {
				w := string(rune('a' + rng.IntN(5)))
				words[id][w] = true
				list = append(list, w)
			}
			c.Put(eval.NewDoc(id, 0, pairs(str(text, strings.Join(list, " ")))))
		}
		n := randomPlan(rng, 4)
		m, err := c.Compile(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		for id := range int64(8) {
			if _, got := m.Match(c.Doc(id)); got != naive(n, words[id]) {
				t.Errorf("%+v on %v: %v", n, words[id], got)
			}
		}
	})
}
