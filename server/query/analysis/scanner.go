package analysis

import (
	"encoding/binary"
	"slices"
	"sync"
	"unicode/utf8"
)

// scanner is the grammar in the form of a deterministic automaton over classes.
type scanner struct {
	classes *classTable
	next    [][classes]int16 // next[state][class] is the next state, or -1 if no word continues with this class
	accept  []bool
}

// words is compiled on first use and is immutable.
var words = sync.OnceValue(func() *scanner { return compile(wordGrammar()) })

// A rule adds its nodes to a nondeterministic automaton, and returns its entry node. The automaton is built from the end, so each rule
// receives the node next, at which the automaton continues after the rule.
type rule func(n *nodes, next int) int

// node reads one character whose class is in set, and continues at next. If set is empty, it continues at both next and alt without
// reading. At the node acceptNode, the automaton accepts the text that it has read.
type node struct {
	set       uint32
	next, alt int
}

type nodes []node

const acceptNode = 0

func (n *nodes) add(nd node) int {
	*n = append(*n, nd)
	return len(*n) - 1
}

func one(set uint32) rule {
	return func(n *nodes, next int) int { return n.add(node{set: set, next: next}) }
}

func seq(rules ...rule) rule {
	return func(n *nodes, next int) int {
		for _, r := range slices.Backward(rules) {
			next = r(n, next)
		}
		return next
	}
}

func alt(rules ...rule) rule {
	return func(n *nodes, next int) int {
		at := rules[0](n, next)
		for _, r := range rules[1:] {
			at = n.add(node{next: r(n, next), alt: at})
		}
		return at
	}
}

func star(r rule) rule {
	return func(n *nodes, next int) int {
		at := n.add(node{alt: next})
		entry := r(n, at)
		(*n)[at].next = entry
		return at
	}
}

func plus(r rule) rule { return seq(r, star(r)) }

func opt(r rule) rule { return alt(r, seq()) }

// compile converts a rule to a deterministic automaton (subset construction).
func compile(r rule) *scanner {
	n := nodes{{}}
	start := r(&n, acceptNode)
	s := &scanner{classes: newClassTable()}
	var (
		sets [][]int
		ids  = map[string]int16{}
		seen = make([]int, len(n)) // for each node, the last round in which it was visited
	)
	// state returns the state that represents the nodes in from and all nodes that these reach without reading.
	round := 0
	state := func(from []int) int16 {
		round++
		var set []int
		for len(from) > 0 {
			at := from[len(from)-1]
			from = from[:len(from)-1]
			switch {
			case seen[at] == round:
				continue
			case at == acceptNode || n[at].set != 0:
				set = append(set, at)
			default:
				from = append(from, n[at].next, n[at].alt)
			}
			seen[at] = round
		}
		if len(set) == 0 {
			return -1
		}
		slices.Sort(set)
		key := keyOf(set)
		id, ok := ids[key]
		if !ok {
			id = int16(len(sets))
			ids[key] = id
			sets = append(sets, set)
		}
		return id
	}
	state([]int{start})
	var to []int
	for i := 0; i < len(sets); i++ {
		var row [classes]int16
		for c := range classes {
			to = to[:0]
			for _, at := range sets[i] {
				if n[at].set&(1<<c) != 0 {
					to = append(to, n[at].next)
				}
			}
			row[c] = state(to)
		}
		s.next = append(s.next, row)
		s.accept = append(s.accept, sets[i][0] == acceptNode)
	}
	return s
}

// keyOf returns a unique key for a set of nodes.
func keyOf(set []int) string {
	var key []byte
	for _, at := range set {
		key = binary.BigEndian.AppendUint16(key, uint16(at))
	}
	return string(key)
}

// match returns the length in bytes of the longest word at the start of text, or 0 if there is none. A word has at most maxWordUnits UTF-16
// code units.
func (s *scanner) match(text string) int {
	state, end, units := int16(0), 0, 0
	for i, r := range text {
		if units++; r > 0xFFFF {
			units++
		}
		if units > maxWordUnits {
			break
		}
		if state = s.next[state][s.classes.of(r)]; state < 0 {
			break
		}
		if s.accept[state] {
			end = i + utf8.RuneLen(r)
		}
	}
	return end
}
