package library

import "slices"

// Stake identifies something that definitions can compete for: a claim, an id that can be adopted, or a token's value. Use it only for
// comparison.
type Stake string

// Stakes lists everything that the two versions of a candidate compete for, without duplicates. The verdict on a candidate depends only on
// which properties are served and what they admit, and on the candidates that share stakes with it, directly or through other candidates.
// For a Property, Stakes returns no stakes but all true, because the verdicts on all definitions of the property depend on it.
func (c Candidate) Stakes() (stakes []Stake, all bool) {
	versions := []Definition{c.Latest}
	if c.Good != nil {
		versions = append(versions, *c.Good)
	}
	add := func(s Stake) {
		if !slices.Contains(stakes, s) {
			stakes = append(stakes, s)
		}
	}
	for _, d := range versions {
		if d.PropertySpec != nil {
			return nil, true
		}
		for _, c := range claimsOf(d) {
			add(c.stake())
		}
		if d.Filter != nil && d.Filter.Adopt {
			// The verdict on an adoption depends on whether the filter to adopt exists.
			add(idClaim(d.Property, KindFilter, d.Filter.ID).stake())
		}
		if d.Token != nil {
			for _, v := range slices.Concat(d.Token.Values, d.Token.Replaced) {
				// The stake does not contain the property, because tokens of all properties compete for values.
				add(Stake("value\x00" + string(v.Digest[:])))
			}
		}
	}
	return stakes, false
}

func (c claim) stake() Stake {
	return Stake("claim\x00" + string(c.property) + "\x00" + string(rune(c.what)) + "\x00" + c.key)
}
