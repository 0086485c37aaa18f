package library

import "slices"

// Stake names something that definitions can contend for: a claim, an id that can be adopted, a token's value. Stakes are
// compared, and mean nothing else.
type Stake string

// Stakes lists what both versions of a candidate contend for, each stake once. A verdict depends on the candidates that
// share a stake with the one judged, on those that share one with them, and so on, and on which properties are served; on
// nothing else. all is true for a Property, on which everything in it depends: it has no stakes.
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
			// It depends on whether there is a filter to adopt.
			add(idClaim(d.Property, KindFilter, d.Filter.ID).stake())
		}
		if d.Token != nil {
			for _, v := range slices.Concat(d.Token.Values, d.Token.Replaced) {
				// Tokens of all properties contend for a value.
				add(Stake("value\x00" + string(v.Digest[:])))
			}
		}
	}
	return stakes, false
}

func (c claim) stake() Stake {
	return Stake("claim\x00" + string(c.property) + "\x00" + string(rune(c.what)) + "\x00" + c.key)
}
