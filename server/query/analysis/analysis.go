// Package analysis cuts texts into words and folds keywords, for items and for queries alike, so that both sides meet.
// It gives the same tokens and positions as the standard analyzer of OpenSearch (Lucene 10: StandardTokenizer, then
// LowerCaseFilter), and for keywords the same text as its lowercase normalizer.
//
// What it returns is stored in indexes: a change of any result makes old indexes wrong.
//
// # Unicode versions
//
//	                          here          OpenSearch 3.8                  difference
//	word boundaries, scripts  Unicode 12.1  Unicode 12.1 (Lucene 10)        none
//	emoji properties          Unicode 12.1  Unicode 12.1 (Lucene 10)        none
//	lower case                Unicode 16.0  Unicode 16.0 on JDK 24 and 25   none
//	                                        Unicode 15.x on JDK 21 to 23    U+1C89, U+A7CB, U+A7CC, U+A7DA, U+A7DC and
//	                                                                        U+10D50 to U+10D65 stay as they are there,
//	                                                                        in keywords (they are in no word)
//
// Letters and ideographs that came into Unicode after 12.1 (CJK Extensions G and later, Vithkuqi and Kawi among
// others) are no words, in OpenSearch as here; the emoji that came since are, because their places were reserved.
//
// It imports the standard library alone.
package analysis

import (
	"iter"
	"unicode/utf8"
)

// maxWordUnits is the length of the longest word in UTF-16 units, which Lucene counts in (max_token_length); what
// follows begins a word of its own.
const maxWordUnits = 255

// PositionGap is the distance between the last word of one value of a text field and the first of the next, so that no
// phrase reaches over (OpenSearch: position_increment_gap).
const PositionGap = 100

// Token is one word of a text.
type Token struct {
	// Text is the word in lower case.
	Text string
	// Position counts the words of the text from 0.
	Position int
	// Start and End enclose the word in the text, in bytes.
	Start, End int
}

// Analyze returns the words of a text, none for a text without any. Bytes that are not UTF-8 are skipped.
func Analyze(text string) []Token {
	var tokens []Token
	for from, to := range cut(text) {
		tokens = append(tokens, Token{Text: lower(text[from:to]), Position: len(tokens), Start: from, End: to})
	}
	return tokens
}

// AppendWords appends the words of a text to dst, one behind the other, and the end of each in dst to ends: the words that
// Analyze returns, whose positions count them, without a string for each.
func AppendWords(dst []byte, ends []int, text string) ([]byte, []int) {
	for from, to := range cut(text) {
		dst = appendLower(dst, text[from:to])
		ends = append(ends, len(dst))
	}
	return dst, ends
}

// CountWords returns the number of words that Analyze returns.
func CountWords(text string) int {
	n := 0
	for range cut(text) {
		n++
	}
	return n
}

// cut yields where each word of a text begins and ends, in bytes.
func cut(text string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		words := words()
		for i := 0; i < len(text); {
			n := words.match(text[i:])
			if n == 0 {
				_, n = utf8.DecodeRuneInString(text[i:])
				i += n
				continue
			}
			if !yield(i, i+n) {
				return
			}
			i += n
		}
	}
}

// HasWord reports whether a text holds at least one word.
func HasWord(text string) bool {
	for range cut(text) {
		return true
	}
	return false
}

// Keyword returns a keyword as it is compared: in lower case, character by character.
func Keyword(s string) string { return lower(s) }

// AppendKeyword appends what Keyword returns.
func AppendKeyword(dst []byte, s string) []byte { return appendLower(dst, s) }
