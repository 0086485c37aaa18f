package definitions

import (
	"iter"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// entries are all definitions, with what becomes of each. They are never changed, only replaced.
type entries struct {
	of tree[Source, held]
	// stakes are the sources that contend for each thing: by them a change is judged without a look at what it does not
	// touch.
	stakes tree[library.Stake, []Source]
}

// held is one definition and what becomes of it.
type held struct {
	*Entry
	verdict library.Verdict
}

// served is the definition that is served, nil for none.
func (h held) served() *library.Definition { return h.verdict.Serve }

func (h held) version() version {
	v := h.verdict
	if v.Serve == nil {
		return version{}
	}
	out := version{entry: h.Entry, fallback: v.Fallback}
	if v.Serve.Filter != nil {
		out.adopted = v.Serve.Filter.UUID
	}
	return out
}

// get returns what a source brought; its entry is nil where that is nothing.
func (all entries) get(s Source) held { return all.of.get(s) }

// sources yields all of them, sorted.
func (all entries) sources() iter.Seq[Source] {
	return func(yield func(Source) bool) {
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
func (all entries) with(changed map[Source]*Entry) (after entries, judged []Source, whole bool) {
	whole = len(changed)*wholeShare > all.of.len()
	for s, e := range changed {
		for _, e := range []*Entry{e, all.get(s).Entry} {
			whole = whole || e != nil && e.Latest.PropertySpec != nil
		}
	}
	if whole {
		return all.rebuilt(changed), nil, true
	}
	touched := map[library.Stake]bool{}
	for s, e := range changed {
		before := all.get(s)
		all = all.unstake(s, before.Entry, touched)
		if e == nil {
			all.of = all.of.without(s)
			continue
		}
		all.of = all.of.with(s, held{Entry: e, verdict: before.verdict})
		all = all.stake(s, e, touched)
	}
	judged = all.rivals(changed, touched)
	candidates := make([]library.Candidate, len(judged))
	for i, s := range judged {
		candidates[i] = all.get(s).candidate()
	}
	for i, v := range library.Rejudge(candidates, all.serves) {
		all.of = all.of.with(judged[i], held{Entry: all.get(judged[i]).Entry, verdict: v})
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
func (all entries) rivals(changed map[Source]*Entry, touched map[library.Stake]bool) []Source {
	found := map[Source]bool{}
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
	judged := make([]Source, 0, len(found)+1)
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
func (all entries) property(p library.PropertyID) (Source, bool) {
	for _, s := range all.stakes.get(propertyStake(p)) {
		if served := all.get(s).served(); served != nil && served.Property == p {
			return s, true
		}
	}
	return Source{}, false
}

// propertyStake is under which the Property manifests of a property are found. It is no stake of theirs: a change of one
// has everything judged.
func propertyStake(p library.PropertyID) library.Stake { return library.Stake("property\x00" + p) }

// stakesOf lists under what a source is found.
func stakesOf(e *Entry) []library.Stake {
	stakes, property := e.candidate().Stakes()
	if !property {
		return stakes
	}
	stakes = []library.Stake{propertyStake(e.Latest.Property)}
	if e.Good != nil && e.Good.Property != e.Latest.Property {
		stakes = append(stakes, propertyStake(e.Good.Property))
	}
	return stakes
}

func (all entries) stake(s Source, e *Entry, touched map[library.Stake]bool) entries {
	for _, stake := range stakesOf(e) {
		touched[stake] = true
		// Copied: whoever holds the entries of before reads the list of before.
		all.stakes = all.stakes.with(stake, append(slices.Clip(all.stakes.get(stake)), s))
	}
	return all
}

func (all entries) unstake(s Source, e *Entry, touched map[library.Stake]bool) entries {
	if e == nil {
		return all
	}
	for _, stake := range stakesOf(e) {
		touched[stake] = true
		left := slices.DeleteFunc(slices.Clone(all.stakes.get(stake)), func(other Source) bool { return other == s })
		if len(left) == 0 {
			all.stakes = all.stakes.without(stake)
		} else {
			all.stakes = all.stakes.with(stake, left)
		}
	}
	return all
}

// settled replaces an entry by one that says the same and has no good version: the newest is served.
func (all entries) settled(s Source) entries {
	h := all.get(s)
	e := &Entry{Latest: h.Latest, Changed: h.Changed, sum: h.sum}
	all = all.unstake(s, h.Entry, map[library.Stake]bool{})
	all.of = all.of.with(s, held{Entry: e, verdict: h.verdict})
	return all.stake(s, e, map[library.Stake]bool{})
}

// rebuilt brings definitions in and judges everything.
func (all entries) rebuilt(changed map[Source]*Entry) entries {
	bySource := make(map[Source]*Entry, all.of.len()+len(changed))
	for s, h := range all.of.all() {
		bySource[s] = h.Entry
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
func arbitrate(bySource map[Source]*Entry) entries {
	sources := make([]Source, 0, len(bySource))
	for s := range bySource {
		sources = append(sources, s)
	}
	slices.SortFunc(sources, compareSources)
	candidates := make([]library.Candidate, len(sources))
	at := map[library.Stake][]Source{}
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
		of: treeOf(compareSources, len(sources), func(i int) (Source, held) {
			return sources[i], held{Entry: bySource[sources[i]], verdict: verdicts[i]}
		}),
		stakes: treeOf(compareStakes, len(stakes), func(i int) (library.Stake, []Source) { return stakes[i], at[stakes[i]] }),
	}
}

func compareStakes(a, b library.Stake) int { return strings.Compare(string(a), string(b)) }
