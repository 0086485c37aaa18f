package library

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Candidate contains the versions of one definition that the library may serve. Both versions have passed Check.
type Candidate struct {
	// Latest is the newest version.
	Latest Definition
	// Good is the version that the library was serving when it refused Latest, or nil if it was serving none. While the library refuses
	// Latest, it serves Good, unless another owner holds one of Good's claims.
	Good *Definition
}

// Verdict is the outcome of Arbitrate for one Candidate.
type Verdict struct {
	// Serve is the version to serve: Latest, Good, or nil for neither. In the version of a filter that adopts another filter, the ids are
	// those of the adopted filter.
	Serve *Definition
	// Fallback is true when Serve is Good.
	Fallback bool
	// Err is the reason why Latest is not served: *ConflictError, *IDTakenError, ErrNoProperty, ErrInvalid (the filter to adopt does not
	// exist), or *ManagedError for a filter created over HTTP that a manifest has adopted.
	Err error
}

// Arbitrate decides which definitions of a library are served (docs/kinds.md, "Two claims on one thing"). The order of the candidates does
// not affect the result, with one exception: if two definitions created over HTTP compete, the first in the list takes precedence.
//
//   - A definition whose property is not served, or does not admit it (see Grant), waits (ErrNoProperty). It holds no claim.
//   - A manifest cannot take the ids of a definition that was created over HTTP, but it can take over such a filter by adopting it. An
//     imported unit with Managed true is the exception: the manifest from which its id was derived takes precedence, and the imported unit
//     is served again after that manifest has been removed.
//   - Of two manifests with the same claim, one in the namespace of the Property takes precedence over one in another namespace, so that a
//     grant cannot take anything from the owner of the Property. Otherwise the one with the older Created takes precedence. If both are
//     equally old, the one that comes first by namespace/name takes precedence. A definition that loses one of its claims gets none of them.
//   - A token's value belongs to the manifest that had it first (TokenValue.Since), in any property; if the times are equal, the rule for
//     two manifests with the same claim decides. The manifest owns the value even after a rotation (Token.Replaced). A token with a value
//     that belongs to another manifest is refused.
//   - The last good version of a refused definition is served if everything that it claims is still free.
func Arbitrate(candidates []Candidate) []Verdict {
	return arbitrate(candidates, func(PropertyID) *Property { return nil })
}

// Rejudge returns, for a subset of all candidates, the verdicts that Arbitrate would return, without reading the others. Call it only for a
// change that touches no Property: the subset contains no Property, and served returns the settings of a served property, or nil. With each
// candidate, the subset must also contain every other candidate that shares a stake with it (see Candidate.Stakes), in the original order.
func Rejudge(candidates []Candidate, served func(PropertyID) *Property) []Verdict {
	return arbitrate(candidates, served)
}

func arbitrate(candidates []Candidate, served func(PropertyID) *Property) []Verdict {
	a := arbiter{
		served:     served,
		candidates: candidates,
		verdicts:   make([]Verdict, len(candidates)),
		holders:    map[claim]Owner{},
		values:     map[Digest]bearer{},
		properties: map[PropertyID]*Property{},
		made:       map[claim]int{},
	}
	order := a.bySeniority()
	// Judge properties first, because all other definitions depend on which properties are served.
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
	served     func(PropertyID) *Property // returns the settings of a served property whose manifest is not in candidates, or nil
	verdicts   []Verdict
	holders    map[claim]Owner
	values     map[Digest]bearer
	properties map[PropertyID]*Property
	made       map[claim]int // maps the id of each served filter created over HTTP, which manifests can adopt, to its index in candidates
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

// compareSeniority orders definitions by precedence. First come definitions created over HTTP, then manifests in the namespace of their
// Property, then other manifests, and then imported units that yield to manifests. Manifests are ordered by age and then by namespace/name.
// It also breaks the remaining ties (the same name in two kinds or two clusters), so that the result is deterministic.
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

// rank is the first key of compareSeniority.
func rank(d Definition) int {
	switch {
	case !d.Owner.IsHTTP() && d.Property.Namespace() == d.Owner.Namespace:
		return 1
	case !d.Owner.IsHTTP():
		return 2
	case d.Unit != nil && d.Unit.Unit.Managed:
		return 3
	default:
		return 0
	}
}

// bearer is the manifest that owns a value of a token, and since is the time at which it first had that value.
type bearer struct {
	owner Owner
	since time.Time
}

// noteToken records the owner of each value of a token, including replaced values. Before arbitrate judges any token, it calls noteToken
// for all tokens in order of seniority: if two tokens have the same value with the same Since, the senior token owns it.
func (a *arbiter) noteToken(d Definition) {
	if d.Token == nil || !a.admits(d) {
		return
	}
	for _, v := range slices.Concat(d.Token.Values, d.Token.Replaced) {
		if b, ok := a.values[v.Digest]; !ok || v.Since.Before(b.since) {
			a.values[v.Digest] = bearer{d.Owner, v.Since}
		}
	}
}

// admits reports whether the property of d is served, and admits d.
func (a *arbiter) admits(d Definition) bool {
	p := cmp.Or(a.properties[d.Property], a.served(d.Property))
	return p != nil && p.Admits(d)
}

func (a *arbiter) judge(d Definition, i int) Verdict {
	served, err := a.try(d, i)
	if err != nil {
		return Verdict{Err: err}
	}
	return Verdict{Serve: &served}
}

// fallBack serves the last good version of a refused definition, and returns it. It returns nil if that version cannot be served either.
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
	// Record the values, so that the fallback of another token cannot take one of them.
	a.noteToken(served)
	return &served
}

// try takes all claims of d, or none if another definition holds one of them.
func (a *arbiter) try(d Definition, i int) (Definition, error) {
	if d.Kind() != KindProperty && !a.admits(d) {
		return d, fmt.Errorf("property %s: %w", d.Property, ErrNoProperty)
	}
	adopted := -1
	if d.Filter != nil && d.Filter.Adopt {
		j, ok := a.made[idClaim(d.Property, KindFilter, d.Filter.ID)]
		if holder, taken := a.holders[adoptionClaim(d)]; taken {
			return d, &ConflictError{Claim: adoptionClaim(d).String(), Holder: holder}
		}
		if !ok {
			return d, fmt.Errorf("%w: adopt names the filter id %d, but no filter of property %s with this id was created over HTTP: %w",
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
		a.properties[d.Property] = d.PropertySpec
	case d.Filter != nil && d.Owner.IsHTTP():
		a.made[idClaim(d.Property, KindFilter, d.Filter.ID)] = i
	case adopted >= 0:
		a.verdicts[adopted] = Verdict{Err: &ManagedError{Owner: d.Owner}}
	}
	return d, nil
}

// claim identifies something in a property that only one definition at a time can hold.
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

// String returns the claim as shown in a condition.
func (c claim) String() string {
	switch c.what {
	case claimProperty:
		return "property " + c.key
	case claimUUID:
		return "uuid " + c.key
	case claimID:
		return "id " + c.key
	case claimAdoption:
		return "filter " + c.key + " (created over HTTP)"
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
		// Do not claim the ids, which belong to the adopted filter.
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
