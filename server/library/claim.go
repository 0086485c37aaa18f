package library

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Candidate is what one owner wants served: a definition that is sound by itself.
type Candidate struct {
	// Latest is the newest version.
	Latest Definition
	// Good is the version that was served when Latest came and could not be; nil when there is none. It is served in
	// place of Latest for as long as nobody else claims what it needs.
	Good *Definition
}

// Verdict says what is served of a Candidate.
type Verdict struct {
	// Serve is Latest, Good, or nil for nothing. An adopting filter carries the ids of the filter that it took over.
	Serve *Definition
	// Fallback is true when Serve is Good.
	Fallback bool
	// Err is why Latest is not served: *ConflictError, *IDTakenError, ErrNoProperty, ErrInvalid (nothing to adopt), or,
	// for an HTTP-made filter that a manifest adopted, *ManagedError.
	Err error
}

// Arbitrate decides between all definitions of a library ("The five kinds": two claims on one thing). The answer
// depends on the set of candidates alone, never on the order in which they came, save that among things made over HTTP
// the first in the list goes first:
//
//   - A definition whose property is not served waits (ErrNoProperty).
//   - What was made over HTTP holds its ids against every manifest; a manifest takes a filter over by adopting it. An
//     imported unit with Managed true is the exception: the manifest that derives its id takes precedence, and the unit is
//     served again once that manifest is gone.
//   - Of two manifests that claim one thing the older Created wins, then the lower namespace/name. A definition that
//     loses one claim takes none.
//   - A token's value belongs to the manifest that had it first (TokenValue.Since), in whatever property; the rule above decides
//     between equal times. That manifest keeps the value after it has replaced it (Token.Replaced). A token with a value that
//     belongs to another manifest is refused.
//   - A loser's last good version is served where everything that it claims is still free.
func Arbitrate(candidates []Candidate) []Verdict {
	return arbitrate(candidates, func(PropertyID) bool { return false })
}

// Rejudge returns the verdicts that Arbitrate would return about some candidates of many, without a look at the others. It
// is for when a change touches no Property: served says which ones are served, and candidates holds no definition of any.
// With each candidate it has to hold all that share a stake with it, see Candidate.Stakes, in the order of the many.
func Rejudge(candidates []Candidate, served func(PropertyID) bool) []Verdict {
	return arbitrate(candidates, served)
}

func arbitrate(candidates []Candidate, served func(PropertyID) bool) []Verdict {
	a := arbiter{
		served:     served,
		candidates: candidates,
		verdicts:   make([]Verdict, len(candidates)),
		holders:    map[claim]Owner{},
		values:     map[Digest]bearer{},
		properties: map[PropertyID]bool{},
		made:       map[claim]int{},
	}
	order := a.bySeniority()
	// Properties come first: everything else needs to know which of them are served.
	for _, property := range []bool{true, false} {
		for _, i := range order {
			if c := candidates[i]; (c.Latest.Kind() == KindProperty) == property {
				a.noteToken(c.Latest)
			}
		}
		for _, i := range order {
			if c := candidates[i]; (c.Latest.Kind() == KindProperty) == property {
				a.verdicts[i] = a.judge(c.Latest, i)
			}
		}
		for _, i := range order {
			c := candidates[i]
			if (c.Latest.Kind() == KindProperty) == property && a.verdicts[i].Err != nil && c.Good != nil {
				a.verdicts[i].Serve = a.fallBack(*c.Good, i)
				a.verdicts[i].Fallback = a.verdicts[i].Serve != nil
			}
		}
	}
	return a.verdicts
}

type arbiter struct {
	candidates []Candidate
	served     func(PropertyID) bool // besides properties
	verdicts   []Verdict
	holders    map[claim]Owner
	values     map[Digest]bearer
	properties map[PropertyID]bool
	made       map[claim]int // HTTP-made filters that are served, by their id: what can be adopted
}

func (a *arbiter) bySeniority() []int {
	order := make([]int, len(a.candidates))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return compareSeniority(a.candidates[i].Latest, a.candidates[j].Latest)
	})
	return order
}

// compareSeniority orders definitions by precedence: HTTP, then the older manifest, then namespace/name, then imported units
// that yield to manifests. What remains equal (one name in two kinds or two clusters) is ordered too, so that the outcome
// never depends on chance.
func compareSeniority(a, b Definition) int {
	return cmp.Or(
		cmp.Compare(rank(a), rank(b)),
		a.Created.Compare(b.Created),
		strings.Compare(a.Owner.Namespace, b.Owner.Namespace),
		strings.Compare(a.Owner.Name, b.Owner.Name),
		cmp.Compare(a.Owner.Kind, b.Owner.Kind),
		strings.Compare(a.Owner.Install, b.Owner.Install),
	)
}

// rank is the first thing that seniority compares.
func rank(d Definition) int {
	switch {
	case !d.Owner.IsHTTP():
		return 1
	case d.Unit != nil && d.Unit.Unit.Managed:
		return 2
	default:
		return 0
	}
}

// bearer is the manifest that a token's value belongs to, and since when.
type bearer struct {
	owner Owner
	since time.Time
}

// noteToken records to whom the values of a token belong, replaced ones too, before any token is judged. It is called in the
// order of seniority, which decides between equal times.
func (a *arbiter) noteToken(d Definition) {
	if d.Token == nil || !a.isServed(d.Property) {
		return
	}
	for _, v := range slices.Concat(d.Token.Values, d.Token.Replaced) {
		if b, ok := a.values[v.Digest]; !ok || v.Since.Before(b.since) {
			a.values[v.Digest] = bearer{d.Owner, v.Since}
		}
	}
}

func (a *arbiter) isServed(p PropertyID) bool { return a.properties[p] || a.served(p) }

func (a *arbiter) judge(d Definition, i int) Verdict {
	served, err := a.try(d, i)
	if err != nil {
		return Verdict{Err: err}
	}
	return Verdict{Serve: &served}
}

// fallBack serves the last good version of a refused definition, nil where it cannot be served either.
func (a *arbiter) fallBack(good Definition, i int) *Definition {
	if good.Token != nil {
		for _, v := range good.Token.Values {
			if b, ok := a.values[v.Digest]; ok && b.owner != good.Owner {
				return nil
			}
		}
	}
	served, err := a.try(good, i)
	if err != nil {
		return nil
	}
	// A later fallback that shares a value with this one finds it taken.
	a.noteToken(served)
	return &served
}

// try takes everything that d claims, or nothing.
func (a *arbiter) try(d Definition, i int) (Definition, error) {
	if d.Kind() != KindProperty && !a.isServed(d.Property) {
		return d, fmt.Errorf("property %s: %w", d.Property, ErrNoProperty)
	}
	adopted := -1
	if d.Filter != nil && d.Filter.Adopt {
		j, ok := a.made[idClaim(d.Property, KindFilter, d.Filter.ID)]
		if holder, taken := a.holders[adoptionClaim(d)]; taken {
			return d, &ConflictError{Claim: adoptionClaim(d).String(), Holder: holder}
		}
		if !ok {
			return d, fmt.Errorf("%w: adopt names filter id %d, and no filter with that id was made over HTTP in property %s: %w",
				ErrInvalid, d.Filter.ID, d.Property, ErrNotFound)
		}
		adopted = j
		f := *d.Filter
		f.UUID = a.candidates[j].Latest.Filter.UUID
		d.Filter = &f
	}
	claims := claimsOf(d)
	for _, c := range claims {
		holder, taken := a.holders[c]
		if !taken {
			continue
		}
		if c.what == claimID || c.what == claimUUID {
			return d, &IDTakenError{ID: idOf(d), Holder: holder}
		}
		return d, &ConflictError{Claim: c.String(), Holder: holder}
	}
	if d.Token != nil {
		for _, v := range d.Token.Values {
			if b, ok := a.values[v.Digest]; ok && b.owner != d.Owner {
				return d, &ConflictError{Claim: "the token's value", Holder: b.owner}
			}
		}
	}
	for _, c := range claims {
		a.holders[c] = d.Owner
	}
	switch {
	case d.PropertySpec != nil:
		a.properties[d.Property] = true
	case d.Filter != nil && d.Owner.IsHTTP():
		a.made[idClaim(d.Property, KindFilter, d.Filter.ID)] = i
	case adopted >= 0:
		a.verdicts[adopted] = Verdict{Err: &ManagedError{Owner: d.Owner}}
	}
	return d, nil
}

// claim is one thing that one definition at a time can hold, within a property.
type claim struct {
	property PropertyID
	what     claimed
	key      string
}

type claimed uint8

const (
	claimProperty claimed = iota
	claimUUID
	claimID
	claimAdoption
	claimTag
	claimDefaultUnit
)

// String is the claim as a person reads it in a condition.
func (c claim) String() string {
	switch c.what {
	case claimProperty:
		return "property " + c.key
	case claimUUID:
		return "uuid " + c.key
	case claimID:
		return "id " + c.key
	case claimAdoption:
		return "the HTTP-made filter " + c.key
	case claimTag:
		return "tag " + c.key
	case claimDefaultUnit:
		return "the default unit of property " + string(c.property)
	}
	return "unknown claim"
}

func claimsOf(d Definition) []claim {
	p := d.Property
	switch {
	case d.PropertySpec != nil:
		return []claim{{p, claimProperty, string(p)}}
	case d.Filter != nil && d.Filter.Adopt:
		// The ids themselves stay with the filter underneath.
		return []claim{adoptionClaim(d)}
	case d.Filter != nil:
		return []claim{{p, claimUUID, d.Filter.UUID}, idClaim(p, KindFilter, d.Filter.ID)}
	case d.Tag != nil:
		return []claim{{p, claimTag, d.Tag.Tag.Namespace + ":" + d.Tag.Tag.Key}}
	case d.Unit != nil:
		claims := []claim{idClaim(p, KindUnit, d.Unit.Unit.ID)}
		if d.Unit.Default {
			claims = append(claims, claim{p, claimDefaultUnit, ""})
		}
		return claims
	}
	return nil
}

func idClaim(p PropertyID, kind Kind, id int64) claim {
	return claim{p, claimID, kind.String() + " " + strconv.FormatInt(id, 10)}
}

func adoptionClaim(d Definition) claim {
	return claim{d.Property, claimAdoption, strconv.FormatInt(d.Filter.ID, 10)}
}

func idOf(d Definition) int64 {
	switch {
	case d.Filter != nil:
		return d.Filter.ID
	case d.Unit != nil:
		return d.Unit.Unit.ID
	}
	return 0
}
