package item

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// holdsAddress reports whether a text may contain a mail address (docs/security.md, "Names of authors"). It errs on the safe side: a text
// that nobody can send mail to, such as P@ul, also counts. A handle such as @jo, or @jo@social.example as a word of its own, does not count.
func holdsAddress(s string) bool {
	words := strings.Fields(plainAddress(s))
	for i, w := range words {
		if strings.HasPrefix(w, "@") && strings.Count(w, "@") == 2 && !strings.HasPrefix(w, "@@") {
			continue // @user@host, as in the fediverse
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

// holdsText reports whether a text contains another text, ignoring case, white space and invisible characters.
func holdsText(s, part string) bool {
	plain := func(s string) string { return strings.Join(strings.Fields(plainAddress(s)), "") }
	part = plain(part)
	return part != "" && strings.Contains(plain(s), part)
}

// plainAddress returns a text in lower case, without invisible characters, and with @ in place of its other forms.
func plainAddress(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '＠' || r == '﹫':
			return '@'
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) || unicode.IsControl(r) && !unicode.IsSpace(r):
			return -1
		}
		return r
	}, strings.ToLower(s))
	return strings.NewReplacer("%40", "@", "&#64;", "@", "&commat;", "@").Replace(s)
}

// endsLocal reports whether a text that precedes a sign @ can end with the local part of an address: its last character is a letter, a
// digit, or one that RFC 5322 permits in an atom, a quoted string or a comment.
func endsLocal(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(last) || unicode.IsNumber(last) || strings.ContainsRune("!#$%&'*+/=?^_`{|}~-.\")>", last)
}

// beginsDomain reports whether a text that follows a sign @ can begin with a domain or the literal of an address.
func beginsDomain(s string) bool {
	for _, r := range s {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || strings.ContainsRune("[(-_.", r)
	}
	return false
}
