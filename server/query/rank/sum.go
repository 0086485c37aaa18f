package rank

// Sum adds the scores of the clauses in one group, in the same way as Lucene's scorers. It adds up the scores of required clauses and those
// of optional clauses separately, in double precision. Then it adds the two sums in single precision. The zero value is an empty sum.
type Sum struct {
	must, should   float64
	musts, shoulds int
}

// Must adds the score of a required clause.
func (s *Sum) Must(score float32) {
	s.must += float64(score)
	s.musts++
}

// Should adds the score of an optional clause that matched.
func (s *Sum) Should(score float32) {
	s.should += float64(score)
	s.shoulds++
}

// Score returns the total, which is 0 for an empty sum.
func (s *Sum) Score() float32 {
	switch {
	case s.musts == 0:
		return float32(s.should)
	case s.shoulds == 0:
		return float32(s.must)
	default:
		return float32(s.must) + float32(s.should)
	}
}
