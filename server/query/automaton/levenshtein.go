package automaton

import "fmt"

// MaxEdits is the maximum distance for Levenshtein, as in Lucene.
const MaxEdits = 2

// maxFuzzyStates bounds the automaton of Levenshtein: two edits of a word of 255 characters, the maximum length of package
// analysis, need about 30,000 states.
const maxFuzzyStates = 60_000

// Levenshtein returns an automaton that accepts the terms within edits (0 to MaxEdits) of text. An edit inserts, deletes or
// replaces one character (Unicode code point), or transposes two adjacent characters that no other edit touches, as in
// Lucene. A text of many hundreds of characters fails with an error that wraps ErrTooComplex. Distance computes the
// distance of a single term.
func Levenshtein(text string, edits int) (Automaton, error) {
	if edits < 0 || edits > MaxEdits {
		return nil, fmt.Errorf("fuzzy term: %d edits requested, 0 to %d are possible", edits, MaxEdits)
	}
	word := []rune(text)
	p := &program{}
	end := p.match()
	// rows[e][i] is the address from which word[i:] remains to be read after e edits.
	rows := make([][]int32, edits+1)
	for e := edits; e >= 0 && p.err == nil; e-- {
		row := make([]int32, len(word)+1)
		rows[e] = row
		for i := len(word); i >= 0 && p.err == nil; i-- {
			var ways []int32
			if i == len(word) {
				ways = append(ways, end)
			} else {
				ways = append(ways, p.literal(word[i], row[i+1]))
			}
			if e < edits {
				ways = append(ways, p.anyRune(rows[e+1][i])) // insertion
				if i < len(word) {
					ways = append(ways, p.anyRune(rows[e+1][i+1]), rows[e+1][i+1]) // replacement, deletion
				}
				if i+1 < len(word) {
					ways = append(ways, p.literal(word[i+1], p.literal(word[i], rows[e+1][i+2])))
				}
			}
			at := ways[0]
			for _, w := range ways[1:] {
				at = p.split(w, at)
			}
			row[i] = at
		}
	}
	if p.err != nil {
		return nil, fmt.Errorf("fuzzy term: %w", p.err)
	}
	d, err := p.determinize(rows[0][0], maxFuzzyStates, maxFuzzyEffort)
	if err != nil {
		return nil, fmt.Errorf("fuzzy term: %w", err)
	}
	return d, nil
}
