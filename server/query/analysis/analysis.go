// Package analysis splits texts into words and folds keywords, in the same way for items and for queries. For texts, it produces the same
// tokens and positions as the standard analyzer of OpenSearch, which consists of the StandardTokenizer and the LowerCaseFilter of Lucene
// 10. For keywords, it produces the same text as the lowercase normalizer of OpenSearch.
//
// Indexes contain the output of this package, so any change of the output invalidates existing indexes.
//
// # Unicode versions
//
//	                          here          OpenSearch 3.8                  difference
//	word boundaries, scripts  Unicode 12.1  Unicode 12.1 (Lucene 10)        none
//	emoji properties          Unicode 12.1  Unicode 12.1 (Lucene 10)        none
//	lower case                Unicode 16.0  Unicode 16.0 on JDK 24 and 25   none
//	                                        Unicode 15.x on JDK 21 to 23    U+1C89, U+A7CB, U+A7CC, U+A7DA, U+A7DC and
//	                                                                        U+10D50 to U+10D65 stay unchanged there,
//	                                                                        in keywords (they are in no word)
//
// Letters and ideographs that were added after Unicode 12.1 (such as CJK Extensions G and later, Vithkuqi and Kawi) do not form words,
// neither in OpenSearch nor here. Emoji that were added after Unicode 12.1 are words, because Unicode 12.1 had already reserved their code
// points for emoji.
//
// This package imports only the standard library.
package analysis

import (
	"iter"
	"unicode/utf8"
)

// maxWordUnits is the maximum length of a word (max_token_length in Lucene), in UTF-16 code units, because Lucene counts these. The rest of
// a longer word begins a new word.
const maxWordUnits = 255

// PositionGap is the gap between the position of the last word in one value of a text field and that of the first word in the next value.
// Because of the gap, no phrase spans two values. OpenSearch calls it position_increment_gap.
const PositionGap = 100

// Token is one word of a text.
type Token struct {
	// Text is the word in lower case.
	Text string
	// Position is the index of the word in the text, from 0.
	Position int
	// Start and End are the byte offsets of the word in the text.
	Start, End int
}

// Analyze returns the words of a text. It skips bytes that are not UTF-8.
func Analyze(text string) []Token {
	var tokens []Token
	for from, to := range cut(text) {
		tokens = append(tokens, Token{Text: lower(text[from:to]), Position: len(tokens), Start: from, End: to})
	}
	return tokens
}

// AppendWords appends the words of a text to dst, without separators. For each word, it appends to ends the offset in dst at which the word
// ends. The words are those of Analyze, and their positions are consecutive. Unlike Analyze, AppendWords does not allocate a string for
// each word.
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

// cut yields the start and end of each word in a text, in bytes.
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

// HasWord reports whether a text contains at least one word.
func HasWord(text string) bool {
	for range cut(text) {
		return true
	}
	return false
}

// Keyword returns the form of s that is used to compare keywords: s with each character converted to lower case separately.
func Keyword(s string) string { return lower(s) }

// AppendKeyword appends the result of Keyword to dst.
func AppendKeyword(dst []byte, s string) []byte { return appendLower(dst, s) }
