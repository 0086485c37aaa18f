package item

import (
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// holdsAddress reports whether a text may contain a mail address (docs/security.md, "Names of authors"). It errs on the safe side: a text
// that is not a valid address, such as P@ul, also counts. A handle such as @jo, or @jo@social.example as a word of its own, does not count.
func holdsAddress(s string) bool {
	return slices.ContainsFunc(readings(s), addressIn)
}

func addressIn(reading string) bool {
	words := strings.Fields(reading)
	for i, w := range words {
		if isHandle(w) {
			continue
		}
		for at := strings.IndexByte(w, '@'); at >= 0; {
			before, after := w[:at], w[at+1:]
			local := before != "" && endsLocal(before)
			if local && beginsDomain(after) {
				return true
			}
			// White space is possible around the sign (RFC 5322, 3.4.1). A dot distinguishes the domain from other words.
			if (local || before == "" && i > 0) && after == "" && i+1 < len(words) && strings.Contains(strings.Trim(words[i+1], "."), ".") {
				return true
			}
			next := strings.IndexByte(after, '@')
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	return false
}

// isHandle reports whether a word is a handle as in the fediverse, @user@host, which punctuation can follow.
func isHandle(w string) bool {
	name, signed := strings.CutPrefix(strings.TrimRight(w, ".,;:!?"), "@")
	user, host, _ := strings.Cut(name, "@")
	strange := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_-.", r)
	}
	return signed && user != "" && host != "" && !strings.ContainsFunc(user+host, strange)
}

// holdsText reports whether a text contains another text, ignoring case, white space and invisible characters.
func holdsText(s, part string) bool {
	join := func(s string) string { return strings.Join(strings.Fields(s), "") }
	parts := readings(part)
	for i, reading := range readings(s) {
		if p := join(parts[i]); p != "" && strings.Contains(join(reading), p) {
			return true
		}
	}
	return false
}

// readings returns a text as it is and as HTML, both in lower case, without invisible characters, and with @ in place of its other forms.
// HTML alone is not enough: it has © in place of the end of the local part in jo&copy@mail.example.
func readings(s string) []string {
	plain := func(s string) string {
		s = strings.Map(func(r rune) rune {
			switch {
			case r == '＠' || r == '﹫':
				return '@'
			case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) || unicode.IsControl(r) && !unicode.IsSpace(r):
				return -1
			}
			return r
		}, strings.ToLower(s))
		return strings.ReplaceAll(s, "%40", "@")
	}
	return []string{plain(s), plain(html.UnescapeString(s))}
}

// endsLocal reports whether a text that precedes a sign @ can end with the local part of an address: its last character is a letter, a
// digit, or one that RFC 5322 permits in an atom, a quoted string or a comment.
func endsLocal(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(last) || unicode.IsNumber(last) || strings.ContainsRune("!#$%&'*+/=?^_`{|}~-.\")>", last)
}

// beginsDomain reports whether a text that follows a sign @ can begin with a domain or the literal of an address.
func beginsDomain(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(first) || unicode.IsNumber(first) || strings.ContainsRune("[(-_.", first)
}
