package search

import (
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
)

// test is the condition of a leaf. It applies to one field and is immutable.
type test interface {
	// find returns the documents of s that pass. f is the field in s and never nil. If within is not nil, find may leave out documents that
	// are not in within.
	find(ctx context.Context, s *segment.Segment, f *segment.Field, within *roaring.Bitmap) (set, error)
	// holds reports whether a lower-cased keyword passes.
	holds(keyword string) bool
	// appendKey appends a description of the test. Two tests have the same description if and only if they are equal.
	appendKey(key []byte) []byte
	// price is the relative cost of find.
	price() int
}

// uniter is a test that finds documents by uniting the postings of terms.
type uniter interface {
	test
	// unite is like find, for all documents. For c, see newUnion.
	unite(ctx context.Context, s *segment.Segment, f *segment.Field, c *Cache) (*union, error)
}

// findUnited implements find for a uniter.
func findUnited(ctx context.Context, t uniter, s *segment.Segment, f *segment.Field) (set, error) {
	u, err := t.unite(ctx, s, f, nil)
	if err != nil {
		return set{}, err
	}
	return u.set(), nil
}

// hasTerms reports whether patterns, ranges of terms and fuzzy words can match in a field.
func hasTerms(f query.Field) bool { return f.Type == query.Text || f.Type == query.Keyword }

// checkTerms is the number of terms or documents that a loop reads before it checks the context again.
const checkTerms = 1024

// interrupted returns the cause of the context if the context has ended, and nil otherwise.
func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// findIn evaluates a test on the data of a segment and ignores the overlay.
func findIn(ctx context.Context, s *segment.Segment, f query.Field, t test, within *roaring.Bitmap) (set, error) {
	field := s.Field(f.Name)
	if field == nil {
		return set{}, nil
	}
	found, err := t.find(ctx, s, field, within)
	if err != nil {
		return set{}, fmt.Errorf("search %s: %w", f.Name, err)
	}
	return found, nil
}

// ownPostings holds the postings of a term for each segment of the corpus that contains the term. It is nil if the postings have not been
// looked up.
type ownPostings []segment.Postings

// in returns the postings of a term in a field of one segment. It returns false if the field does not contain the term.
func (o ownPostings) in(f *segment.Field, term string) (segment.Postings, bool) {
	if o == nil {
		return f.Term(term)
	}
	for _, p := range o {
		if p.In(f) {
			return p, true
		}
	}
	return segment.Postings{}, false
}
