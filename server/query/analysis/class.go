package analysis

import "slices"

// class is what the grammar knows of a code point. There are fewer than 32, so that a set of them is a bit mask.
type class uint8

const (
	other class = iota // no part of any word
	letter
	hebrew
	numeric
	digit // 0-9: numeric, and the base of a keycap
	katakana
	hiragana
	han
	complexLetter // Thai, Lao, Khmer, Myanmar and others whose words cannot be told from the characters alone
	complexMark   // a mark of these scripts: it also extends any other character
	connector     // _ and its like
	midLetter
	midNum
	midNumLet
	singleQuote
	doubleQuote
	extend // combining marks and format characters: they stay with what they follow
	joiner // U+200D, which joins emoji
	textStyle
	emojiStyle
	pictograph
	letterPictograph // a letter that is an emoji as well, such as U+2139
	modifier         // skin tones
	regional         // two of them make a flag
	keycapSign       // # and *
	keycap           // U+20E3
	tagSpec
	tagEnd
	classes // their number
)

type classRange struct {
	lo, hi rune
	class  class
}

// asciiClasses spares the commonest texts the search.
var asciiClasses = func() (table [128]class) {
	for r := range rune(len(table)) {
		table[r] = searchClass(r)
	}
	return table
}()

// classOf returns the class of a code point.
func classOf(r rune) class {
	if r >= 0 && int(r) < len(asciiClasses) {
		return asciiClasses[r]
	}
	return searchClass(r)
}

func searchClass(r rune) class {
	i, _ := slices.BinarySearchFunc(classRanges[:], r, func(c classRange, r rune) int { return int(c.hi) - int(r) })
	if i < len(classRanges) && classRanges[i].lo <= r {
		return classRanges[i].class
	}
	return other
}
