package eval

import (
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// patternClause matches documents with a term that an automaton accepts.
type patternClause struct {
	field     name
	automaton automaton.Automaton
	hint      int
}

func (p *patternClause) match(d *Doc) (float32, bool) {
	if f := d.field(p.field, &p.hint); f != nil {
		for i, to := f.terms(); i < to; i++ {
			if automaton.Match(p.automaton, d.term(i)) {
				return 1, true
			}
		}
	}
	return 0, false
}

func (p *patternClause) cost() int { return 40 }

// termRange matches documents with a term between two bounds, by bytes.
type termRange struct {
	field name
	plan.TermRange
	hint int
}

func (r *termRange) match(d *Doc) (float32, bool) {
	if f := d.field(r.field, &r.hint); f != nil {
		for i, to := f.terms(); i < to; i++ {
			if r.holds(d.term(i)) {
				return 1, true
			}
		}
	}
	return 0, false
}

func (r *termRange) holds(s string) bool {
	above := r.LoOpen || s > r.Lo || r.LoIncl && s == r.Lo
	return above && (r.HiOpen || s < r.Hi || r.HiIncl && s == r.Hi)
}

func (r *termRange) cost() int { return 10 }

// intRange matches documents with a whole number, date or truth value in a closed range.
type intRange struct {
	field  name
	lo, hi int64
	hint   int
}

func (r *intRange) match(d *Doc) (float32, bool) {
	if f := d.field(r.field, &r.hint); f != nil && !f.hasTerms() {
		for _, v := range d.numbers[f.from:f.to] {
			if r.lo <= v && v <= r.hi {
				return 1, true
			}
		}
	}
	return 0, false
}

func (r *intRange) cost() int { return 1 }

// floatRange is the same for floating-point numbers.
type floatRange struct {
	field  name
	lo, hi float64
	hint   int
}

func (r *floatRange) match(d *Doc) (float32, bool) {
	if f := d.field(r.field, &r.hint); f != nil && !f.hasTerms() {
		for _, v := range d.numbers[f.from:f.to] {
			if x := float(v); r.lo <= x && x <= r.hi {
				return 1, true
			}
		}
	}
	return 0, false
}

func (r *floatRange) cost() int { return 1 }

// exists matches documents that have a field.
type exists struct {
	field name
	hint  int
}

func (e *exists) match(d *Doc) (float32, bool) { return 1, d.field(e.field, &e.hint) != nil }

func (e *exists) cost() int { return 1 }
