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
	digit // 0-9: numeric, and the base of a keycap
	katakana
	hiragana
	han
	complexLetter // Thai, Lao, Khmer, Myanmar and other scripts whose word boundaries cannot be derived from the characters
	complexMark   // a mark of these scripts; it can follow any other character, as extend can
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
	regional         // two of them make a flag
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

// classTable holds the classes of the code points in the Basic Multilingual Plane, which contains nearly all text. classRanges also
// contains the other planes.
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
