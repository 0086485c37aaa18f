package automaton

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
)

const (
	// maxEffort is the maximum number of steps in the construction of the automaton for a pattern. MaxStates alone does not limit the time,
	// because a single state can represent as many instructions as the pattern has. With maxEffort, a pattern that takes too long is refused
	// within about a quarter of a second.
	maxEffort = 8_000_000
	// cellEffort is the number of steps that count for one table cell. Because cells count, maxEffort also limits the memory of the table.
	cellEffort = 2
	// pairEffort is the number of steps that count for one table cell of an intersection. It is higher, because the construction of an
	// intersection looks up a pair of states for each cell.
	pairEffort = 8
)

const dead = -1

// dfa is a complete deterministic automaton over bytes. Bytes that lead every state to the same next state share a column of the table.
type dfa struct {
	columns [256]uint8
	width   int     // number of columns
	next    []int32 // next[state*width+column] is the next state, or dead if no match can follow
	accept  []bool
	always  []bool // always[state] is true if WillAlwaysMatch(state) is
	effort  int    // number of steps of the construction
	source  Expression
}

func (d *dfa) Start() int {
	if len(d.accept) == 0 {
		return dead
	}
	return 0
}

func (d *dfa) IsMatch(s int) bool         { return s >= 0 && d.accept[s] }
func (d *dfa) CanMatch(s int) bool        { return s >= 0 }
func (d *dfa) WillAlwaysMatch(s int) bool { return s >= 0 && d.always[s] }

func (d *dfa) Accept(s int, b byte) int {
	if s < 0 {
		return dead
	}
	return int(d.next[s*d.width+int(d.columns[b])])
}

// subsets numbers the sets of instructions that a deterministic automaton has as its states.
type subsets struct {
	*program
	// effort is the number of steps of closure.
	effort int
	ids    map[string]int32
	// keys contains the encoded set of instructions of each state. The keys of ids are the same strings, not copies, because for a large
	// pattern these sets take most of the memory.
	keys []string

	// The following fields are memory that is used again.
	set, stack []int32
	key        []byte
	mark       []int32
	stamp      int32
}

// closure follows the splits from the given addresses. It returns the addresses of the reading and accepting instructions that it reaches,
// sorted. The returned slice is valid until the next call.
func (s *subsets) closure(from []int32) []int32 {
	s.stamp++
	stack := append(s.stack[:0], from...)
	s.set = s.set[:0]
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.mark[at] == s.stamp {
			continue
		}
		s.mark[at] = s.stamp
		s.effort++
		switch i := s.code[at]; i.op {
		case opSplit:
			stack = append(stack, i.out, i.alt)
		case opBytes, opMatch:
			s.set = append(s.set, at)
		}
	}
	s.stack = stack
	slices.Sort(s.set)
	return s.set
}

// state returns the number of the state for a set of instructions. It creates the state if it does not exist yet.
func (s *subsets) state(set []int32) int32 {
	if len(set) == 0 {
		return dead
	}
	s.key = s.key[:0]
	before := int32(0)
	for _, at := range set {
		s.key = binary.AppendUvarint(s.key, uint64(at-before))
		before = at
	}
	if id, ok := s.ids[string(s.key)]; ok {
		return id
	}
	id := int32(len(s.keys))
	s.keys = append(s.keys, string(s.key))
	s.ids[s.keys[id]] = id
	return id
}

// determinize converts the program with the given entry to a deterministic automaton, by subset construction. limit is the maximum number
// of states, and effort the maximum number of steps. determinize removes states from which no match is possible.
func (p *program) determinize(entry int32, limit, effort int) (*dfa, error) {
	if p.err != nil {
		return nil, p.err
	}
	d := &dfa{}
	p.columns(d)
	targets := make([][]int32, d.width)
	sets := &subsets{program: p, effort: d.effort, ids: map[string]int32{}, mark: make([]int32, len(p.code))}
	sets.state(sets.closure([]int32{entry}))
	for s := 0; s < len(sets.keys); s++ {
		sets.effort += cellEffort * d.width
		accept := false
		for c := range targets {
			targets[c] = targets[c][:0]
		}
		for at := range members(sets.keys[s]) {
			i := p.code[at]
			if i.op == opMatch {
				accept = true
				continue
			}
			for c := d.columns[i.lo]; ; c++ {
				targets[c] = append(targets[c], i.out)
				sets.effort++
				if c == d.columns[i.hi] {
					break
				}
			}
		}
		d.accept = append(d.accept, accept)
		for c := range targets {
			if len(sets.keys) > limit || sets.effort > effort {
				return nil, fmt.Errorf("compile pattern: %w", ErrTooComplex)
			}
			to := int32(dead)
			switch {
			case len(targets[c]) == 0:
			case c > 0 && slices.Equal(targets[c], targets[c-1]):
				to = d.next[len(d.next)-1]
			default:
				to = sets.state(sets.closure(targets[c]))
			}
			d.next = append(d.next, to)
		}
	}
	d.effort = sets.effort
	d.trim()
	return d, nil
}

// intersect returns an automaton that accepts the strings that both a and b accept, by product construction. limit is the maximum number of
// states, and effort the maximum number of steps.
func intersect(a, b *dfa, limit, effort int) (*dfa, error) {
	d := &dfa{}
	if len(a.accept) == 0 || len(b.accept) == 0 {
		return d, nil
	}
	for i := range 256 {
		if i > 0 && (a.columns[i] != a.columns[i-1] || b.columns[i] != b.columns[i-1]) {
			d.width++
		}
		d.columns[i] = uint8(d.width)
	}
	d.width++
	firsts := d.firsts()
	type pair struct{ a, b int }
	pairs := []pair{{a.Start(), b.Start()}}
	ids := map[pair]int32{pairs[0]: 0}
	for s := 0; s < len(pairs); s++ {
		at := pairs[s]
		d.effort += pairEffort * d.width
		d.accept = append(d.accept, a.accept[at.a] && b.accept[at.b])
		for _, first := range firsts {
			to := pair{a.Accept(at.a, first), b.Accept(at.b, first)}
			id, ok := ids[to]
			switch {
			case to.a < 0 || to.b < 0:
				id = dead
			case !ok:
				id = int32(len(pairs))
				pairs = append(pairs, to)
				ids[to] = id
			}
			d.next = append(d.next, id)
		}
		if len(pairs) > limit || d.effort > effort {
			return nil, fmt.Errorf("compile pattern: %w", ErrTooComplex)
		}
	}
	d.trim()
	return d, nil
}

// firsts returns the lowest byte of each column.
func (d *dfa) firsts() []byte {
	firsts := make([]byte, 0, d.width)
	for i, column := range d.columns {
		if int(column) == len(firsts) {
			firsts = append(firsts, byte(i))
		}
	}
	return firsts
}

// members yields the instructions in the set that a key encodes.
func members(key string) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		at, step, shift := uint64(0), uint64(0), 0
		for i := range len(key) {
			step |= uint64(key[i]&0x7F) << shift
			if shift += 7; key[i] >= 0x80 {
				continue
			}
			at += step
			if !yield(int32(at)) {
				return
			}
			step, shift = 0, 0
		}
	}
}

// columns assigns each byte to a column. Bytes that no instruction distinguishes are in the same column. The column numbers ascend with the
// bytes, so a range of bytes is a range of columns.
func (p *program) columns(d *dfa) {
	var starts [257]bool
	starts[0] = true
	for _, i := range p.code {
		if i.op == opBytes {
			starts[i.lo] = true
			starts[int(i.hi)+1] = true
		}
	}
	n := -1
	for b := range 256 {
		if starts[b] {
			n++
		}
		d.columns[b] = uint8(n)
	}
	d.width = n + 1
}

// trim replaces every state from which no match is possible with the state dead. It renumbers the remaining states, and determines
// d.always.
func (d *dfa) trim() {
	n := len(d.accept)
	before := make([][]int32, n)
	for at, to := range d.next {
		if to >= 0 {
			before[to] = append(before[to], int32(at/d.width))
		}
	}
	useful := make([]bool, n)
	var work []int32
	for s, ok := range d.accept {
		if ok {
			useful[s] = true
			work = append(work, int32(s))
		}
	}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		for _, b := range before[s] {
			if !useful[b] {
				useful[b] = true
				work = append(work, b)
			}
		}
	}
	names := make([]int32, n)
	kept := int32(0)
	for s := range names {
		names[s] = dead
		if useful[s] {
			names[s] = kept
			kept++
		}
	}
	var next []int32
	var accept []bool
	if n > 0 && useful[0] {
		next = make([]int32, 0, int(kept)*d.width)
		for s := range n {
			if !useful[s] {
				continue
			}
			accept = append(accept, d.accept[s])
			for _, to := range d.next[s*d.width : (s+1)*d.width] {
				if to >= 0 {
					to = names[to]
				}
				next = append(next, to)
			}
		}
	}
	d.next, d.accept = next, accept
	d.findAlways()
}

// findAlways determines which states always match: the accepting states whose successors all match always. It starts with all accepting
// states, and removes states that have other successors until nothing changes.
func (d *dfa) findAlways() {
	d.always = slices.Clone(d.accept)
	for changed := true; changed; {
		changed = false
		for s, ok := range d.always {
			if !ok {
				continue
			}
			for _, to := range d.next[s*d.width : (s+1)*d.width] {
				if to < 0 || !d.always[to] {
					d.always[s] = false
					changed = true
					break
				}
			}
		}
	}
}
