package rank_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// counted implements Statistics for one field, and counts the calls.
type counted struct {
	docFreqs map[string]int64
	fields   [][]string
	similar  int
}

var errNoStatistics = errors.New("no statistics")

func (c *counted) Field(_ context.Context, _ string, terms []string) (rank.Field, []int64, error) {
	if c.docFreqs == nil {
		return rank.Field{}, nil, errNoStatistics
	}
	c.fields = append(c.fields, terms)
	docFreqs := make([]int64, len(terms))
	for i, t := range terms {
		docFreqs[i] = c.docFreqs[t]
	}
	return rank.Field{Docs: 10, Terms: 40}, docFreqs, nil
}

func (c *counted) Similar(_ context.Context, _ plan.Fuzzy, offer func(string, int64)) error {
	if c.docFreqs == nil {
		return errNoStatistics
	}
	c.similar++
	for t, n := range c.docFreqs {
		offer(t, n)
	}
	return nil
}

// TestWeigher checks the weights of terms, fuzzy words and phrases, and that no statistics are requested twice.
func TestWeigher(t *testing.T) {
	text := query.Field{Name: "content.text", Type: query.Text}
	fuzzy := plan.Fuzzy{Field: text, Text: "beach", Edits: 1, MaxExpansions: 50}
	source := &counted{docFreqs: map[string]int64{"beach": 4, "beech": 1, "sun": 2}}
	w := rank.NewWeigher(source)
	norms := rank.NewNorms(rank.Field{Docs: 10, Terms: 40})
	weighed := func(word string, boost float64, docFreq int64) rank.WeightedTerm {
		return rank.WeightedTerm{Field: text, Text: word, Boost: boost, IDF: rank.IDF(docFreq, 10), Norms: norms}
	}
	for range 2 {
		sun, err := w.Weigh(t.Context(), plan.Term{Field: text, Text: "sun"})
		if err != nil {
			t.Fatal(err)
		}
		expanded, err := w.Expand(t.Context(), fuzzy)
		if err != nil {
			t.Fatal(err)
		}
		want := []rank.WeightedTerm{weighed("sun", 1, 2), weighed("beach", 1, 4), weighed("beech", float64(1-float32(1)/5), 4)}
		if diff := cmp.Diff(want, append([]rank.WeightedTerm{sun}, expanded...), cmp.AllowUnexported(rank.Norms{})); diff != "" {
			t.Errorf("weights (-want +got):\n%s", diff)
		}
		phrase, err := w.Scorer(t.Context(), text.Name, 2, []string{"sun", "beach"})
		if err != nil {
			t.Fatal(err)
		}
		if want := rank.NewScorer(norms, 2, rank.PhraseIDF([]int64{2, 4}, 10)); phrase.Score(1, 4) != want.Score(1, 4) {
			t.Errorf("a phrase has score %v, want %v", phrase.Score(1, 4), want.Score(1, 4))
		}
	}
	if diff := cmp.Diff([][]string{{"sun"}, {"beach"}}, source.fields); diff != "" || source.similar != 1 {
		t.Errorf("asked %d times for similar terms, and for the frequencies (-want +got):\n%s", source.similar, diff)
	}
}

func TestWeigherErrors(t *testing.T) {
	text := query.Field{Name: "content.text", Type: query.Text}
	w := rank.NewWeigher(&counted{})
	if _, err := w.Weigh(t.Context(), plan.Term{Field: text, Text: "sun"}); !errors.Is(err, errNoStatistics) {
		t.Errorf("a term: %v", err)
	}
	if _, err := w.Expand(t.Context(), plan.Fuzzy{Field: text, Text: "sun"}); !errors.Is(err, errNoStatistics) {
		t.Errorf("a fuzzy word: %v", err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errNoStatistics)
	if _, err := rank.NewWeigher(&counted{docFreqs: map[string]int64{}}).Expand(ended, plan.Fuzzy{Field: text, Text: "sun"}); !errors.Is(err, errNoStatistics) {
		t.Errorf("a fuzzy word after the context has ended: %v", err)
	}
}
