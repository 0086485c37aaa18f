package definitions

import (
	"iter"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// entries holds all definitions with their verdicts. It is immutable.
type entries struct {
	of tree[Source, held]
	// stakes maps each stake to the sources that compete for it. It serves to find the definitions that a change can affect.
	stakes tree[library.Stake, []Source]
}

// held is one definition with its verdict.
type held struct {
	*Entry
	verdict library.Verdict
}

// served returns the served definition, or nil.
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

// get returns the entry of a source with its verdict. If there is no entry, the embedded pointer is nil.
func (all entries) get(s Source) held { return all.of.get(s) }

// sources yields all sources, sorted.
func (all entries) sources() iter.Seq[Source] {
	return func(yield func(Source) bool) {
		for s := range all.of.all() {
			if !yield(s) {
				return
			}
		}
	}
}

// wholeShare limits partial judging: if more than 1/wholeShare of the definitions change, all definitions are judged again.
const wholeShare = 4

// with replaces definitions and decides which are served. A nil entry removes a definition. judged lists the sources whose verdicts may
// have changed, sorted. If whole is true, the verdicts of all sources may have changed, and judged is nil.
//
// A definition without rivals is judged alone. Other definitions are judged together with their rivals: those that share a stake with them,
// directly or through others (see library.Candidate.Stakes). All definitions are judged if a Property changes, or if more than 1/wholeShare
// of the definitions change.
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
	for i, v := range library.Rejudge(candidates, all.settings) {
		all.of = all.of.with(judged[i], held{Entry: all.get(judged[i]).Entry, verdict: v})
	}
	// A removed source has no verdict, but the callers must also learn of its removal.
	for s, e := range changed {
		if e == nil {
			judged = append(judged, s)
		}
	}
	slices.SortFunc(judged, compareSources)
	return all, judged, false
}

// rivals returns the sources that have a touched stake, the sources that share another stake with one of these, and so on. The result is
// sorted and includes all sources in changed that still exist, even those without a stake.
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

// settings returns the settings of a served property, or nil.
func (all entries) settings(p library.PropertyID) *library.Property {
	s, ok := all.property(p)
	if !ok {
		return nil
	}
	return all.get(s).served().PropertySpec
}

// property returns the source of the Property manifest that declares a served property.
func (all entries) property(p library.PropertyID) (Source, bool) {
	for _, s := range all.stakes.get(propertyStake(p)) {
		if served := all.get(s).served(); served != nil && served.Property == p {
			return s, true
		}
	}
	return Source{}, false
}

// propertyStake returns the key of the Property manifests of a property in entries.stakes. The key only serves to find these manifests.
// Properties have no real stakes, because all definitions are judged when a Property changes.
func propertyStake(p library.PropertyID) library.Stake { return library.Stake("property\x00" + p) }

// stakesOf returns the keys of an entry in entries.stakes.
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
		// Clip forces append to copy the list, because the previous version of all shares it.
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

// settled removes the good version of an entry whose newest version is served.
func (all entries) settled(s Source) entries {
	h := all.get(s)
	e := &Entry{Latest: h.Latest, Changed: h.Changed, sum: h.sum}
	all = all.unstake(s, h.Entry, map[library.Stake]bool{})
	all.of = all.of.with(s, held{Entry: e, verdict: h.verdict})
	return all.stake(s, e, map[library.Stake]bool{})
}

// rebuilt replaces definitions and judges all definitions again.
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

// arbitrate builds entries and decides which definitions are served.
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
