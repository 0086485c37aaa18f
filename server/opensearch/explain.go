package opensearch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Explain explains why a listing contains an item, or why not. See library.Library.
func (l *Library) Explain(ctx context.Context, r library.Read, id item.ID) (*library.Explanation, error) {
	return withListing(ctx, l, r, func(ctx context.Context, v *view, listing library.Listing) (*library.Explanation, error) {
		it, err := v.item(ctx, id)
		if err != nil {
			return nil, err
		}
		root, err := v.root(ctx, listing)
		if err != nil {
			return nil, err
		}
		doc, err := v.document(ctx, it)
		if err != nil {
			return nil, err
		}
		e, err := eval.Explain(ctx, statistics{v}, root, doc)
		if err != nil {
			return nil, err
		}
		return &e, nil
	})
}

// statistics provides the term statistics of the cluster.
type statistics struct{ *view }

var _ rank.Statistics = statistics{}

// Field returns the totals of a field, and the number of items that contain each term. The single shard of the index counts them.
func (s statistics) Field(ctx context.Context, field string, terms []string) (rank.Field, []int64, error) {
	freqs := make([]int64, len(terms))
	f, ok := query.Lookup(field)
	if !ok || f.Type != query.Text || schema.KindOf(field) != schema.OfItem {
		return rank.Field{}, freqs, nil
	}
	name := schema.Indexed(f)
	answer := termVectors{field: name}
	// The cluster returns the statistics of the words in this artificial document. For a document without words, it returns no statistics,
	// so the document always contains the word "a".
	body := object{
		"doc": object{name: append([]string{"a"}, terms...)}, "term_statistics": true, "field_statistics": true,
		"positions": false, "offsets": false,
	}
	if err := s.cluster.Do(ctx, http.MethodPost, "/"+s.index()+"/_termvectors", body, &answer); err != nil {
		return rank.Field{}, nil, fmt.Errorf("look up the frequencies of words: %w", err)
	}
	found := answer.Vectors[name]
	for i, t := range terms {
		freqs[i] = found.Terms[t].Docs
	}
	return rank.Field{Docs: max(0, found.Statistics.Docs), Terms: max(0, found.Statistics.Terms)}, freqs, nil
}

// Similar offers the terms of the field that are within the edit distance of a fuzzy word.
func (s statistics) Similar(ctx context.Context, n plan.Fuzzy, offer func(term string, docFreq int64)) error {
	if n.Field.Type != query.Text || schema.KindOf(n.Field.Name) != schema.OfItem {
		return nil
	}
	var answer similarWords
	err := s.search(ctx, object{"size": 0, "suggest": object{"similar": object{"text": n.Text, "term": object{
		"field": schema.Indexed(n.Field), "suggest_mode": "always", "max_edits": max(1, n.Edits), "prefix_length": 0,
		"min_word_length": 1, "size": n.MaxExpansions,
	}}}}, &answer)
	if err != nil {
		return err
	}
	_, freqs, err := s.Field(ctx, n.Field.Name, []string{n.Text})
	if err != nil {
		return err
	}
	if freqs[0] > 0 {
		offer(n.Text, freqs[0])
	}
	for _, word := range answer.Suggest.Similar {
		for _, o := range word.Options {
			offer(o.Text, o.Freq)
		}
	}
	return nil
}

// termVectors is the response to a request for the frequencies of words in a field.
type termVectors struct {
	field   string
	Vectors map[string]struct {
		Statistics struct {
			Docs  int64 `json:"doc_count"`
			Terms int64 `json:"sum_ttf"`
		} `json:"field_statistics"`
		Terms map[string]struct {
			Docs int64 `json:"doc_freq"`
		} `json:"terms"`
	} `json:"term_vectors"`
}

func (a *termVectors) Lacks() string {
	_, ok := a.Vectors[a.field]
	return cluster.Lacking(ok, "term_vectors")
}

// similarWords is the response to a search for words that are similar to a word.
type similarWords struct {
	cluster.Searched
	Suggest struct {
		Similar []struct {
			Options []struct {
				Text string `json:"text"`
				Freq int64  `json:"freq"`
			} `json:"options"`
		} `json:"similar"`
	} `json:"suggest"`
}

func (a *similarWords) Lacks() string {
	return cmp.Or(a.Searched.Lacks(), cluster.Lacking(a.Suggest.Similar != nil, "suggest"))
}
