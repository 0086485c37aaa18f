package httpapi

import (
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// loggedParams are the parameters whose values the log may contain. Other parameters can contain tokens or, in queries over submissions,
// personal data.
var loggedParams = []string{"page", "page_size", "sort_by", "order", "info", "on_conflict", "filter_id", "ugc_id"}

// loggable returns the query part of a URL for the log. It contains the names of all parameters, and the values of loggedParams.
func loggable(params url.Values) string {
	if len(params) == 0 {
		return ""
	}
	names := make([]string, 0, 8) // on the stack, because its size is constant
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

// longWord is the minimum length at which a word of letters, digits, - and _ may be a misplaced token. All tokens are at least that long.
// Those that the operator generates consist of these characters.
const longWord = 32

// address matches an e-mail address. Its @ may be percent-encoded.
var address = regexp.MustCompile(`[^\s/?&=@]+(?:@|%(?:25)*40)[^\s/?&=@]+`)

// hide replaces possible tokens and e-mail addresses in a part of a URL.
func hide(s string) string {
	if strings.Contains(s, "@") || strings.Contains(s, "40") {
		s = address.ReplaceAllLiteralString(s, "[e-mail]")
	}
	var b strings.Builder
	kept := 0 // the length of the part of s that has been copied to b
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && isWordByte(s[end]) {
			end++
		}
		// A UUID is the only legitimate long word in paths.
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

// isUUID reports whether s is a UUID, in upper or lower case.
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

// clip truncates a text to n bytes.
func clip(s string, n int) string { return s[:min(len(s), n)] }

// accessLog returns a handler that adds a property and the name of a token to each line. Adding them to the handler once costs less than
// adding them to each record.
func accessLog(to slog.Handler, property library.PropertyID, token string) slog.Handler {
	return to.WithAttrs([]slog.Attr{slog.String("property", string(property)), slog.String("token", token)})
}

// requestID returns the id that identifies a request in its response and in the log. It is the X-Request-Id of the caller if that is a
// plain word without a token, otherwise a random id.
func requestID(r *http.Request, tokens []string) string {
	id := r.Header.Get("X-Request-Id")
	plain := !strings.ContainsFunc(id, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.'
	})
	holdsToken := slices.ContainsFunc(tokens, func(token string) bool { return strings.Contains(id, token) })
	if plain && id != "" && len(id) <= 64 && !holdsToken {
		return id
	}
	// The id need not be unpredictable.
	var drawn [12]byte
	binary.BigEndian.PutUint64(drawn[:], rand.Uint64())
	binary.BigEndian.PutUint32(drawn[8:], rand.Uint32())
	var text [2 * len(drawn)]byte
	hex.Encode(text[:], drawn[:])
	return string(text[:])
}
