package query

import (
	"fmt"
	"strings"
)

// maxEdits is the maximum edit distance. As in OpenSearch, a larger number in a query means maxEdits.
const maxEdits = 2

// fuzzy returns the leaf for word~ or word~N. If N has a fraction, fuzzy drops the fraction.
func (p *parser) fuzzy(tok token, s suffix, in scope) (Node, error) {
	text := p.text(tok)
	if tok.kind != tokBareSign {
		var err error
		if text, err = p.unescape(tok.start, tok.end, false); err != nil {
			return nil, err
		}
	}
	n := Fuzzy{Leaf: Leaf{in.field, p.at(tok.start)}, Text: text, Edits: AutoEdits}
	if s.number == "" || strings.EqualFold(s.number, "auto") {
		return n, nil
	}
	edits, ok := wholePart(s.number)
	if !ok {
		return nil, p.errorAt(s.at, "bad edit distance", "~, ~0, ~1 or ~2")
	}
	n.Edits = min(edits, maxEdits)
	return n, nil
}

// wholePart parses the integer part of a decimal number without a sign. For numbers above 2^31-1, it returns 2^31-1.
func wholePart(s string) (int, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if !allDigits(whole + fraction) {
		return 0, false
	}
	n := 0
	for _, c := range whole {
		if n = n*10 + int(c-'0'); n > 1<<31-1 {
			n = 1<<31 - 1
		}
	}
	return n, true
}

// allDigits reports whether s consists of one or more decimal digits.
func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// EditsFor returns the edit distance that AUTO means for a text: 0 for up to 2 characters, 1 for 3 to 5 characters, and 2 for more.
func EditsFor(text string) int {
	switch n := len([]rune(text)); {
	case n < 3:
		return 0
	case n < 6:
		return 1
	default:
		return maxEdits
	}
}

// String returns [field:]word~ or word~N.
func (n Fuzzy) String() string {
	var b strings.Builder
	n.Field.write(&b)
	writeWord(&b, n.Text, n.Field.Name != "")
	b.WriteByte('~')
	if n.Edits >= 0 {
		fmt.Fprint(&b, n.Edits)
	}
	return b.String()
}

func (Fuzzy) construct() string { return "a fuzzy term" }
func (Fuzzy) expands() bool     { return true }

// Expands reports whether n contains a leaf that means the most similar terms of all items (Fuzzy). Whether an item matches such a query can
// depend on the other items.
func Expands(n Node) bool {
	return !Walk(n, func(n Node) bool {
		l, ok := n.(leaf)
		return !ok || !l.expands()
	})
}
