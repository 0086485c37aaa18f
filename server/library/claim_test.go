package library

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
)

var (
	early = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	late  = early.Add(time.Hour)
)

const shop PropertyID = "shop/default"

func ownerOf(kind Kind, name string) Owner {
	return Owner{Install: "cluster", Kind: kind, Namespace: "shop", Name: name}
}

func propertyDef(id PropertyID, name string, created time.Time) Definition {
	return Definition{Property: id, Owner: ownerOf(KindProperty, name), Created: created, PropertySpec: &Property{PlatformPageID: 1}}
}

func tagDef(name, key string, created time.Time) Definition {
	return Definition{
		Property: shop, Owner: ownerOf(KindTag, name), Created: created,
		Tag: &TagRule{Tag: item.Tag{Namespace: "marketer_tags", Key: key}, Items: []item.ID{1}},
	}
}

func unitDef(name string, id int64, byDefault bool, created time.Time) Definition {
	return Definition{
		Property: shop, Owner: ownerOf(KindUnit, name), Created: created,
		Unit: &UnitRule{Unit: item.Unit{ID: id, Name: name}, Default: byDefault},
	}
}

func tokenDef(name string, created time.Time, values ...byte) Definition {
	d := Definition{Property: shop, Owner: ownerOf(KindToken, name), Created: created, Token: &Token{}}
	for _, v := range values {
		d.Token.Values = append(d.Token.Values, TokenValue{Digest: Digest{v}})
	}
	return d
}

// since sets Since for all values of the token d.
func since(t time.Time, d Definition) Definition {
	for i := range d.Token.Values {
		d.Token.Values[i].Since = t
	}
	return d
}

// replacing adds replaced values to the token d. They have the Since of the first value.
func replacing(d Definition, values ...byte) Definition {
	for _, v := range values {
		d.Token.Replaced = append(d.Token.Replaced, TokenValue{Digest: Digest{v}, Since: d.Token.Values[0].Since})
	}
	return d
}

// far moves a definition to another namespace and to the property of that namespace.
func far(d Definition) Definition {
	d.Owner.Namespace, d.Property = "wall", "wall/default"
	return d
}

// guest moves a definition to another namespace, but not to another property.
func guest(d Definition) Definition {
	d.Owner.Namespace = "wall"
	return d
}

func filterDef(name string, id int64, created time.Time) Definition {
	return Definition{
		Property: shop, Owner: ownerOf(KindFilter, name), Created: created,
		Filter: &Filter{UUID: fmt.Sprintf("uuid-%d", id), ID: id, Name: name, Query: "*:*"},
	}
}

func httpFilter(id int64) Definition {
	d := filterDef("made over HTTP", id, time.Time{})
	d.Owner = Owner{}
	return d
}

func adopting(name string, id int64, created time.Time) Definition {
	d := filterDef(name, id, created)
	d.Filter.UUID, d.Filter.Adopt = "", true
	return d
}

// outcome describes a verdict as text: the version that is served and, if it is not the newest, the reason.
func outcome(v Verdict) string {
	served := "nothing"
	if v.Serve != nil {
		served = "newest"
		if v.Fallback {
			served = "last good"
		}
	}
	var conflict *ConflictError
	var taken *IDTakenError
	var managed *ManagedError
	switch {
	case v.Err == nil:
		return served
	case errors.As(v.Err, &conflict):
		return fmt.Sprintf("%s: %s held by %s", served, conflict.Claim, conflict.Holder.Name)
	case errors.As(v.Err, &taken):
		return fmt.Sprintf("%s: id %d taken by %q", served, taken.ID, taken.Holder.Name)
	case errors.As(v.Err, &managed):
		return fmt.Sprintf("%s: managed by %s", served, managed.Owner.Name)
	case errors.Is(v.Err, ErrNoProperty):
		return served + ": no property"
	case errors.Is(v.Err, ErrNotFound):
		return served + ": nothing to adopt"
	}
	return fmt.Sprintf("%s: %v", served, v.Err)
}

func TestArbitrate(t *testing.T) {
	latest := func(defs ...Definition) []Candidate {
		out := []Candidate{{Latest: propertyDef(shop, "default", early)}}
		for _, d := range defs {
			out = append(out, Candidate{Latest: d})
		}
		return out
	}
	withGood := func(d, good Definition) Candidate { return Candidate{Latest: d, Good: &good} }

	for name, c := range map[string]struct {
		candidates []Candidate
		want       []string // without the property
	}{
		"no property": {
			candidates: []Candidate{{Latest: propertyDef("shop/other", "other", early)}, {Latest: tagDef("a", "summer", early)}},
			want:       []string{"nothing: no property"},
		},
		"a guest without a grant holds no claim and no value": {
			candidates: latest(
				guest(tagDef("a", "summer", early)), tagDef("b", "summer", late), since(early, guest(tokenDef("c", early, 1))), since(late, tokenDef("d", late, 1))),
			want: []string{"nothing: no property", "newest", "nothing: no property", "newest"},
		},
		"a guest with a grant takes nothing from the namespace of the Property": {
			candidates: append([]Candidate{{Latest: granting(Grant{Namespaces: []string{"wall"}, Kinds: []string{"Tag"}})}},
				Candidate{Latest: guest(tagDef("a", "summer", early))}, Candidate{Latest: tagDef("b", "summer", late)},
				Candidate{Latest: guest(tagDef("c", "winter", late))}, Candidate{Latest: guest(tagDef("d", "winter", early))}, Candidate{Latest: guest(tokenDef("e", early, 1))}),
			want: []string{
				"nothing: tag marketer_tags:summer held by b", "newest", "nothing: tag marketer_tags:winter held by d", "newest", "nothing: no property",
			},
		},
		"the last good version of a guest is not served without a grant": {
			candidates: append(latest(), withGood(guest(tagDef("a", "summer", early)), guest(tagDef("a", "winter", early)))),
			want:       []string{"nothing: no property"},
		},
		"one tag, the older holds it": {
			candidates: latest(tagDef("a", "summer", late), tagDef("b", "summer", early)),
			want:       []string{"nothing: tag marketer_tags:summer held by b", "newest"},
		},
		"the same age: the lower name": {
			candidates: latest(tagDef("b", "summer", early), tagDef("a", "summer", early)),
			want:       []string{"nothing: tag marketer_tags:summer held by a", "newest"},
		},
		"different tags do not conflict": {
			candidates: latest(tagDef("a", "summer", early), tagDef("b", "winter", early)),
			want:       []string{"newest", "newest"},
		},
		"a loser keeps its last good version": {
			candidates: append(latest(tagDef("a", "winter", early)), withGood(tagDef("b", "winter", late), tagDef("b", "summer", late))),
			want:       []string{"newest", "last good: tag marketer_tags:winter held by a"},
		},
		"a last good version yields to a newest one": {
			candidates: append(latest(tagDef("a", "winter", early), tagDef("c", "summer", late)), withGood(tagDef("b", "winter", late), tagDef("b", "summer", early))),
			want:       []string{"newest", "newest", "nothing: tag marketer_tags:winter held by a"},
		},
		"two default units": {
			candidates: latest(unitDef("a", 1, true, late), unitDef("b", 2, true, early), unitDef("c", 3, false, early)),
			want:       []string{"nothing: the default unit of property shop/default held by b", "newest", "newest"},
		},
		"a unit that lost the default keeps its last good version": {
			candidates: append(latest(unitDef("b", 2, true, early)), withGood(unitDef("a", 1, true, late), unitDef("a", 1, false, late))),
			want:       []string{"newest", "last good: the default unit of property shop/default held by b"},
		},
		"a loser takes none of its claims": {
			candidates: latest(unitDef("a", 1, true, early), unitDef("b", 2, true, late), unitDef("c", 2, false, late.Add(time.Hour))),
			want:       []string{"newest", "nothing: the default unit of property shop/default held by a", "newest"},
		},
		"one token value with equal Since: the older manifest has it": {
			candidates: latest(tokenDef("a", late, 1), tokenDef("b", early, 1), tokenDef("c", late, 2)),
			want:       []string{"nothing: the token's value held by b", "newest", "newest"},
		},
		"one token value: the earlier Since has it": {
			candidates: latest(since(late, tokenDef("a", early, 1)), since(early, tokenDef("b", late, 1))),
			want:       []string{"nothing: the token's value held by b", "newest"},
		},
		"a token value of another namespace and property": {
			candidates: append(latest(since(late, tokenDef("a", early, 1)), since(early, far(tokenDef("b", late, 1)))),
				Candidate{Latest: far(propertyDef(shop, "default", early))}),
			want: []string{"nothing: the token's value held by b", "newest", "newest"},
		},
		"a token whose property is not served has no value": {
			candidates: latest(since(late, tokenDef("a", early, 1)), since(early, far(tokenDef("b", late, 1)))),
			want:       []string{"newest", "nothing: no property"},
		},
		"the old value of a rotation counts": {
			candidates: latest(since(early, tokenDef("a", early, 1, 2)), since(late, tokenDef("b", early, 2))),
			want:       []string{"newest", "nothing: the token's value held by a"},
		},
		"a replaced value stays with its token": {
			candidates: latest(replacing(since(early, tokenDef("a", late, 1)), 2), since(late, tokenDef("b", early, 2))),
			want:       []string{"newest", "nothing: the token's value held by a"},
		},
		"a token whose replaced value belongs to another one is served": {
			candidates: latest(since(early, tokenDef("a", late, 2)), replacing(since(late, tokenDef("b", early, 1)), 2)),
			want:       []string{"newest", "newest"},
		},
		"the holder keeps its old value when it gets a new one": {
			candidates: latest(Definition{
				Property: shop, Owner: ownerOf(KindToken, "b"), Created: early,
				Token: &Token{Values: []TokenValue{{Digest: Digest{1}, Since: late.Add(time.Hour)}, {Digest: Digest{2}, Since: early}}},
			}, since(late, tokenDef("a", early, 2))),
			want: []string{"newest", "nothing: the token's value held by b"},
		},
		"a last good value yields to a newest one with a later Since": {
			candidates: append(latest(tokenDef("a", early, 1), since(late, tokenDef("c", late, 2))), withGood(tokenDef("b", late, 1), tokenDef("b", late, 2))),
			want:       []string{"newest", "newest", "nothing: the token's value held by a"},
		},
		"a refused token keeps its last good value": {
			candidates: append(latest(tokenDef("a", early, 1)), withGood(tokenDef("b", late, 1), tokenDef("b", late, 2))),
			want:       []string{"newest", "last good: the token's value held by a"},
		},
		"an id made over HTTP is taken": {
			candidates: latest(httpFilter(7), filterDef("a", 7, early)),
			want:       []string{"newest", `nothing: id 7 taken by ""`},
		},
		"adoption": {
			candidates: latest(httpFilter(7), adopting("a", 7, late)),
			want:       []string{"nothing: managed by a", "newest"},
		},
		"two adopt one": {
			candidates: latest(httpFilter(7), adopting("a", 7, late), adopting("b", 7, early)),
			want:       []string{"nothing: managed by b", "nothing: filter 7 (created over HTTP) held by b", "newest"},
		},
		"nothing to adopt": {
			candidates: latest(filterDef("b", 7, early), adopting("a", 7, late)),
			want:       []string{"newest", "nothing: nothing to adopt"},
		},
		"two properties of one id": {
			candidates: []Candidate{
				{Latest: propertyDef(shop, "default", early)}, {Latest: propertyDef(shop, "again", late)}, {Latest: tagDef("a", "summer", early)},
			},
			want: []string{"nothing: property shop/default held by default", "newest"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range Arbitrate(c.candidates)[1:] {
				got = append(got, outcome(v))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}

// granting returns the definition of the Property shop/default with grants.
func granting(grants ...Grant) Definition {
	d := propertyDef(shop, "default", early)
	d.PropertySpec.Grants = grants
	return d
}

func TestAdmits(t *testing.T) {
	token := func(change func(*Token)) Definition {
		d := guest(tokenDef("a", early, 1))
		d.Token.Guest = true
		change(d.Token)
		return d
	}
	reads, writes := token(func(*Token) {}), token(func(t *Token) { t.ReadWrite = true })
	named := func(names ...string) Definition {
		return token(func(t *Token) { t.Filters, t.FilterNames = []string{}, names })
	}
	wall := Grant{Namespaces: []string{"fair", "wall"}, Kinds: []string{"AccessToken", "ContentFilter"}, ReadOnly: true}
	filters := Grant{Namespaces: []string{"wall"}, Kinds: []string{"AccessToken"}, ReadOnly: true, Filters: []string{"summer", "winter"}}
	writers := Grant{Namespaces: []string{"wall"}, Kinds: []string{"AccessToken"}, ReadWrite: true}
	for name, c := range map[string]struct {
		grants []Grant
		of     Definition
		want   bool
	}{
		"its own namespace":            {of: tokenDef("a", early, 1), want: true},
		"created over HTTP":            {of: httpFilter(7), want: true},
		"no grant":                     {of: reads},
		"a grant":                      {[]Grant{wall}, reads, true},
		"another class":                {[]Grant{wall}, writes, false},
		"the other class":              {[]Grant{writers}, writes, true},
		"not the other class":          {[]Grant{writers}, reads, false},
		"two grants":                   {[]Grant{writers, wall}, reads, true},
		"another kind":                 {[]Grant{wall}, guest(tagDef("a", "summer", early)), false},
		"a kind without classes":       {[]Grant{wall}, guest(filterDef("a", 1, early)), true},
		"a filter to adopt":            {[]Grant{wall}, guest(adopting("a", 7, early)), false},
		"another namespace":            {[]Grant{{Namespaces: []string{"walls"}, Kinds: []string{"AccessToken"}, ReadOnly: true}}, reads, false},
		"listed filters":               {[]Grant{filters}, named("winter"), true},
		"a filter that is not listed":  {[]Grant{filters}, named("winter", "spring"), false},
		"all filters":                  {[]Grant{filters}, reads, false},
		"filters without names":        {[]Grant{filters}, named(), false},
		"any filters":                  {[]Grant{wall}, named("spring"), true},
		"a namespace of the same name": {[]Grant{{Namespaces: []string{"WALL"}, Kinds: []string{"AccessToken"}, ReadOnly: true}}, reads, false},
	} {
		if got := granting(c.grants...).PropertySpec.Admits(c.of); got != c.want {
			t.Errorf("%s: Admits = %t, want %t", name, got, c.want)
		}
	}
}

func TestAdoptionKeepsTheIDs(t *testing.T) {
	verdicts := Arbitrate([]Candidate{
		{Latest: propertyDef(shop, "default", early)}, {Latest: httpFilter(7)}, {Latest: adopting("a", 7, late)},
	})
	if got := verdicts[2].Serve.Filter; got.UUID != "uuid-7" || got.ID != 7 {
		t.Errorf("the adopting filter has %s and %d, want those of the filter that it took over", got.UUID, got.ID)
	}
}

// TestArbitrateDoesNotDependOnOrder shuffles many conflicting definitions.
func TestArbitrateDoesNotDependOnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var crowd []Candidate
	crowd = append(crowd, Candidate{Latest: propertyDef(shop, "default", early)})
	for i := range 60 {
		created := early.Add(time.Duration(r.IntN(5)) * time.Hour)
		name := fmt.Sprintf("n%d", i)
		key := string(rune('a' + r.IntN(6)))
		switch i % 4 {
		case 0:
			good := tagDef(name, string(rune('a'+r.IntN(6))), created)
			crowd = append(crowd, Candidate{Latest: tagDef(name, key, created), Good: &good})
		case 1:
			crowd = append(crowd, Candidate{Latest: unitDef(name, int64(1+r.IntN(9)), r.IntN(3) == 0, created)})
		case 2:
			brought := early.Add(time.Duration(r.IntN(3)) * time.Hour)
			good := since(brought, tokenDef(name, created, byte(r.IntN(9))))
			crowd = append(crowd, Candidate{Latest: since(brought, tokenDef(name, created, byte(r.IntN(9)), byte(r.IntN(9)))), Good: &good})
		case 3:
			crowd = append(crowd, Candidate{Latest: filterDef(name, int64(1+r.IntN(9)), created)})
		}
	}
	outcomes := func(candidates []Candidate) map[string]string {
		out := map[string]string{}
		for i, v := range Arbitrate(candidates) {
			out[candidates[i].Latest.Owner.String()] = outcome(v)
		}
		return out
	}
	want := outcomes(crowd)
	for range 20 {
		r.Shuffle(len(crowd), func(i, j int) { crowd[i], crowd[j] = crowd[j], crowd[i] })
		if diff := cmp.Diff(want, outcomes(crowd)); diff != "" {
			t.Fatalf("another order gave other verdicts (-want +got):\n%s", diff)
		}
	}
}
