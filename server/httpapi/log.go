package httpapi

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// loggedParams are the parameters whose values may stand in a log: they hold neither tokens nor personal data, which a
// query over submissions does.
var loggedParams = []string{"page", "page_size", "sort_by", "order", "info", "on_conflict", "filter_id", "ugc_id"}

// loggable returns the query part of a URL for the log: all names, and the values that may be seen.
func loggable(params url.Values) string {
	if len(params) == 0 {
		return ""
	}
	names := make([]string, 0, len(params))
	for name := range params {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.Grow(64)
	for _, name := range names {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		if b.Len() > 500 {
			b.WriteString("…")
			break
		}
		b.WriteString(url.QueryEscape(clip(hide(name), 50)))
		b.WriteByte('=')
		if slices.Contains(loggedParams, name) {
			b.WriteString(url.QueryEscape(clip(hide(params.Get(name)), 50)))
		} else {
			b.WriteString("…")
		}
	}
	return b.String()
}

// longWord is the length from which a word of letters, digits, - and _ may be a token, wherever it was put by mistake: tokens
// have at least as many characters, and those that the operator makes have no others.
const longWord = 32

// address is an e-mail address, its @ escaped or not.
var address = regexp.MustCompile(`[^\s/?&=@]+(?:@|%(?:25)*40)[^\s/?&=@]+`)

// hide takes out of a part of a URL what may be a token or an e-mail address in the wrong place.
func hide(s string) string {
	if strings.Contains(s, "@") || strings.Contains(s, "40") {
		s = address.ReplaceAllLiteralString(s, "[e-mail]")
	}
	var b strings.Builder
	kept := 0 // how far s is in b, where anything was taken out
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && isWordByte(s[end]) {
			end++
		}
		// A UUID is the one long word that paths of ours have.
		if end-i >= longWord && !isUUID(s[i:end]) {
			b.WriteString(s[kept:i])
			b.WriteString("[long]")
			kept = end
		}
		i = end + 1
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '-'
}

// isUUID reports whether a text is a UUID, in letters of either case.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return false
			}
		}
	}
	return true
}

// clip cuts a text at n bytes.
func clip(s string, n int) string { return s[:min(len(s), n)] }

// tokenName names a token in the log without its value.
func tokenName(g grant) string {
	if g.property == "" {
		return ""
	}
	return g.owner.String()
}

// requestID is what the request is called in its answer and in the log: what the caller calls it, where that is a plain
// word and no token, else something random.
func requestID(r *http.Request, tokens []string) string {
	id := r.Header.Get("X-Request-Id")
	plain := !strings.ContainsFunc(id, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.'
	})
	holdsToken := slices.ContainsFunc(tokens, func(token string) bool { return strings.Contains(id, token) })
	if plain && id != "" && len(id) <= 64 && !holdsToken {
		return id
	}
	// Nothing depends on nobody being able to guess it.
	var drawn [12]byte
	binary.BigEndian.PutUint64(drawn[:], rand.Uint64())
	binary.BigEndian.PutUint32(drawn[8:], rand.Uint32())
	var text [2 * len(drawn)]byte
	hex.Encode(text[:], drawn[:])
	return string(text[:])
}
