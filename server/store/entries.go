package store

import (
	"iter"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// entries are all definitions, with what becomes of each. They are never changed, only replaced.
type entries struct {
	of tree[source, held]
	// stakes are the sources that contend for each thing: by them a change is judged without a look at what it does not
	// touch.
	stakes tree[library.Stake, []source]
}

// held is one definition and what becomes of it.
type held struct {
	*entry
	verdict library.Verdict
}

// served is the definition that is served, nil for none.
func (h held) served() *library.Definition { return h.verdict.Serve }

func (h held) version() version {
	v := h.verdict
	if v.Serve == nil {
		return version{}
	}
	out := version{entry: h.entry, fallback: v.Fallback}
	if v.Serve.Filter != nil {
		out.adopted = v.Serve.Filter.UUID
	}
	return out
}

func (e *entry) candidate() library.Candidate {
	return library.Candidate{Latest: e.latest, Good: e.good}
}

// get returns what a source brought; its entry is nil where that is nothing.
func (all entries) get(s source) held { return all.of.get(s) }

// sources yields all of them, sorted.
func (all entries) sources() iter.Seq[source] {
	return func(yield func(source) bool) {
		for s := range all.of.all() {
			if !yield(s) {
				return
			}
		}
	}
}

// wholeShare is from which share of all definitions on a change has all of them judged anew: one in wholeShare.
const wholeShare = 4

// with brings definitions in, nil for those that go, and decides what is served. judged are the sources whose verdict may
// be another one now, sorted; whole is true where that is everything, and judged is then nil.
//
// What touches nobody else is judged alone, and what touches others with those, see library.Candidate.Stakes. Everything is
// judged where a Property changes, and where most of it does.
func (all entries) with(changed map[source]*entry) (after entries, judged []source, whole bool) {
	whole = len(changed)*wholeShare > all.of.len()
	for s, e := range changed {
		for _, e := range []*entry{e, all.get(s).entry} {
			whole = whole || e != nil && e.latest.PropertySpec != nil
		}
	}
	if whole {
		return all.rebuilt(changed), nil, true
	}
	touched := map[library.Stake]bool{}
	for s, e := range changed {
		before := all.get(s)
		all = all.unstake(s, before.entry, touched)
		if e == nil {
			all.of = all.of.without(s)
			continue
		}
		all.of = all.of.with(s, held{entry: e, verdict: before.verdict})
		all = all.stake(s, e, touched)
	}
	judged = all.rivals(changed, touched)
	candidates := make([]library.Candidate, len(judged))
	for i, s := range judged {
		candidates[i] = all.get(s).candidate()
	}
	for i, v := range library.Rejudge(candidates, all.serves) {
		all.of = all.of.with(judged[i], held{entry: all.get(judged[i]).entry, verdict: v})
	}
	// What went has no verdict, and its absence is news.
	for s, e := range changed {
		if e == nil {
			judged = append(judged, s)
		}
	}
	slices.SortFunc(judged, compareSources)
	return all, judged, false
}

// rivals lists the sources that have a stake in what was touched, and those that share another stake with one of them, and
// so on, sorted. Those of changed that are there are among them also where they have no stake.
func (all entries) rivals(changed map[source]*entry, touched map[library.Stake]bool) []source {
	found := map[source]bool{}
	for s, e := range changed {
		if e != nil {
			found[s] = true
		}
	}
	queue := make([]library.Stake, 0, len(touched))
	for stake := range touched {
		queue = append(queue, stake)
	}
	for len(queue) > 0 {
		stake := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, s := range all.stakes.get(stake) {
			if found[s] {
				continue
			}
			found[s] = true
			stakes, _ := all.get(s).candidate().Stakes()
			for _, next := range stakes {
				if !touched[next] {
					touched[next] = true
					queue = append(queue, next)
				}
			}
		}
	}
	judged := make([]source, 0, len(found)+1)
	for s := range found {
		judged = append(judged, s)
	}
	slices.SortFunc(judged, compareSources)
	return judged
}

// serves reports whether a property is served.
func (all entries) serves(p library.PropertyID) bool {
	_, ok := all.property(p)
	return ok
}

// property returns the source of the manifest by which a property is served.
func (all entries) property(p library.PropertyID) (source, bool) {
	for _, s := range all.stakes.get(propertyStake(p)) {
		if served := all.get(s).served(); served != nil && served.Property == p {
			return s, true
		}
	}
	return source{}, false
}

// propertyStake is under which the Property manifests of a property are found. It is no stake of theirs: a change of one
// has everything judged.
func propertyStake(p library.PropertyID) library.Stake { return library.Stake("property\x00" + p) }

// stakesOf lists under what a source is found.
func stakesOf(e *entry) []library.Stake {
	stakes, property := e.candidate().Stakes()
	if !property {
		return stakes
	}
	stakes = []library.Stake{propertyStake(e.latest.Property)}
	if e.good != nil && e.good.Property != e.latest.Property {
		stakes = append(stakes, propertyStake(e.good.Property))
	}
	return stakes
}

func (all entries) stake(s source, e *entry, touched map[library.Stake]bool) entries {
	for _, stake := range stakesOf(e) {
		touched[stake] = true
		// Copied: whoever holds the entries of before reads the list of before.
		all.stakes = all.stakes.with(stake, append(slices.Clip(all.stakes.get(stake)), s))
	}
	return all
}

func (all entries) unstake(s source, e *entry, touched map[library.Stake]bool) entries {
	if e == nil {
		return all
	}
	for _, stake := range stakesOf(e) {
		touched[stake] = true
		left := slices.DeleteFunc(slices.Clone(all.stakes.get(stake)), func(other source) bool { return other == s })
		if len(left) == 0 {
			all.stakes = all.stakes.without(stake)
		} else {
			all.stakes = all.stakes.with(stake, left)
		}
	}
	return all
}

// settled replaces an entry by one that says the same and has no good version: the newest is served.
func (all entries) settled(s source) entries {
	h := all.get(s)
	e := &entry{latest: h.latest, changed: h.changed, sum: h.sum}
	all = all.unstake(s, h.entry, map[library.Stake]bool{})
	all.of = all.of.with(s, held{entry: e, verdict: h.verdict})
	return all.stake(s, e, map[library.Stake]bool{})
}

// rebuilt brings definitions in and judges everything.
func (all entries) rebuilt(changed map[source]*entry) entries {
	bySource := make(map[source]*entry, all.of.len()+len(changed))
	for s, h := range all.of.all() {
		bySource[s] = h.entry
	}
	for s, e := range changed {
		if e == nil {
			delete(bySource, s)
		} else {
			bySource[s] = e
		}
	}
	return arbitrate(bySource)
}

// arbitrate decides what is served of the definitions.
func arbitrate(bySource map[source]*entry) entries {
	sources := make([]source, 0, len(bySource))
	for s := range bySource {
		sources = append(sources, s)
	}
	slices.SortFunc(sources, compareSources)
	candidates := make([]library.Candidate, len(sources))
	at := map[library.Stake][]source{}
	for i, s := range sources {
		e := bySource[s]
		candidates[i] = e.candidate()
		for _, stake := range stakesOf(e) {
			at[stake] = append(at[stake], s)
		}
	}
	verdicts := library.Arbitrate(candidates)
	stakes := make([]library.Stake, 0, len(at))
	for stake := range at {
		stakes = append(stakes, stake)
	}
	slices.Sort(stakes)
	return entries{
		of: treeOf(compareSources, len(sources), func(i int) (source, held) {
			return sources[i], held{entry: bySource[sources[i]], verdict: verdicts[i]}
		}),
		stakes: treeOf(compareStakes, len(stakes), func(i int) (library.Stake, []source) { return stakes[i], at[stakes[i]] }),
	}
}

func compareStakes(a, b library.Stake) int { return strings.Compare(string(a), string(b)) }
