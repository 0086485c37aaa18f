package automaton

import (
	"fmt"
	"unicode/utf8"
)

// maxInstructions is the maximum number of instructions in the program of a pattern. It is needed because nested repetitions multiply:
// a{1000}{1000} has a million copies of a. A pattern with MaxStates states rarely needs a tenth of this number.
const maxInstructions = 100_000

// op is the operation of an instruction.
type op uint8

const (
	opBytes op = iota // read one byte in [lo, hi] and continue at out
	opSplit           // continue at both out and alt without reading
	opMatch           // accept the bytes read so far
	opFail            // reject
)

type instruction struct {
	op       op
	lo, hi   byte
	out, alt int32
}

// program is a nondeterministic automaton over bytes. It is built from the end: each method that adds instructions takes the address at
// which the program continues after these, and returns the address of the first. Terms must be valid UTF-8: anyString reads any bytes, and
// anyRune does not check for overlong forms.
type program struct {
	code []instruction
	err  error
}

// add appends an instruction and returns its address.
func (p *program) add(i instruction) int32 {
	if len(p.code) >= maxInstructions {
		if p.err == nil {
			p.err = fmt.Errorf("compile pattern: %w", ErrTooComplex)
		}
		return 0
	}
	p.code = append(p.code, i)
	return int32(len(p.code) - 1)
}

func (p *program) match() int32 { return p.add(instruction{op: opMatch}) }

func (p *program) bytes(lo, hi byte, next int32) int32 {
	return p.add(instruction{op: opBytes, lo: lo, hi: hi, out: next})
}

func (p *program) split(a, b int32) int32 {
	return p.add(instruction{op: opSplit, out: a, alt: b})
}

// anyString reads any number of characters.
func (p *program) anyString(next int32) int32 {
	s := p.split(0, next)
	if p.err != nil {
		return s
	}
	p.code[s].out = p.bytes(0, 0xFF, s)
	return s
}

// anyRune reads any one character.
func (p *program) anyRune(next int32) int32 {
	one := p.bytes(0x80, 0xBF, next)
	two := p.bytes(0x80, 0xBF, one)
	three := p.bytes(0x80, 0xBF, two)
	return p.split(
		p.split(p.bytes(0x00, 0x7F, next), p.bytes(0xC2, 0xDF, one)),
		p.split(p.bytes(0xE0, 0xEF, two), p.bytes(0xF0, 0xF4, three)))
}

// runes reads one character that is in a normalized set of ranges. An empty set never matches.
func (p *program) runes(set []runeRange, next int32) int32 {
	if len(set) == 1 && set[0] == (runeRange{0, utf8.MaxRune}) {
		return p.anyRune(next)
	}
	entry := int32(-1)
	for _, r := range set {
		if p.err != nil {
			break
		}
		for _, seq := range utf8Sequences(r) {
			at := next
			for i := len(seq) - 1; i >= 0; i-- {
				at = p.bytes(seq[i].lo, seq[i].hi, at)
			}
			if entry < 0 {
				entry = at
			} else {
				entry = p.split(at, entry)
			}
		}
	}
	if entry < 0 {
		return p.add(instruction{op: opFail})
	}
	return entry
}

// embed adds a deterministic automaton to the program. The automaton must accept at least one string.
func (p *program) embed(d *dfa, next int32) int32 {
	heads := make([]int32, len(d.accept))
	for s := range heads {
		heads[s] = p.split(0, 0)
	}
	firsts := d.firsts()
	for s := range heads {
		if p.err != nil {
			return next
		}
		at := int32(-1)
		lead := func(way int32) {
			if at >= 0 {
				way = p.split(way, at)
			}
			at = way
		}
		if d.accept[s] {
			lead(next)
		}
		row := d.next[s*d.width : (s+1)*d.width]
		for from := 0; from < d.width; {
			end := from + 1
			for end < d.width && row[end] == row[from] {
				end++
			}
			if row[from] != dead {
				last := byte(0xFF)
				if end < d.width {
					last = firsts[end] - 1
				}
				lead(p.bytes(firsts[from], last, heads[row[from]]))
			}
			from = end
		}
		p.code[heads[s]].out, p.code[heads[s]].alt = at, at
	}
	return heads[0]
}
