package analysis

import "slices"

//go:generate sh -c "npm pack --silent @unicode/unicode-12.1.0@2.0.7 && go run generate.go unicode-unicode-12.1.0-2.0.7.tgz && rm unicode-unicode-12.1.0-2.0.7.tgz"

// class is the category of a code point in the grammar. There are fewer than 32 classes, so that a bit mask can represent a
// set of them.
type class uint8

const (
	other class = iota // not part of any word
	letter
	hebrew
	numeric
	digit // 0-9, which can be the base of a keycap in addition to being numeric
	katakana
	hiragana
	han
	complexLetter // Thai, Lao, Khmer, Myanmar and other scripts whose word boundaries cannot be derived from the characters
	complexMark   // a combining mark of these scripts; like extend, it can follow any character
	connector     // _ and similar characters
	midLetter
	midNum
	midNumLet
	singleQuote
	doubleQuote
	extend // combining marks and format characters, which belong to the preceding character
	joiner // U+200D, which joins emoji
	textStyle
	emojiStyle
	pictograph
	letterPictograph // a letter that is also an emoji, such as U+2139
	modifier         // skin tones
	regional         // regional indicators, two of which form a flag
	keycapSign       // # and *
	keycap           // U+20E3
	tagSpec
	tagEnd
	classes // the number of classes
)

type classRange struct {
	lo, hi rune
	class  class
}

// classTable maps each code point of the Basic Multilingual Plane, which covers nearly all text, to its class. For the other planes, there
// is only the slower search in classRanges.
type classTable [0x10000]class

func newClassTable() *classTable {
	t := &classTable{}
	for _, c := range classRanges {
		for r := c.lo; r <= c.hi && int(r) < len(t); r++ {
			t[r] = c.class
		}
	}
	return t
}

// of returns the class of a code point.
func (t *classTable) of(r rune) class {
	if int(r) < len(t) {
		return t[r]
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
