package translate

import (
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// MinTokenLength and MaxTokenLength limit the number of characters of a token that somebody else made. A longer one has no room in
// the header of a request.
const (
	MinTokenLength = 32
	MaxTokenLength = 4096
)

// ErrTokenValue says that a Secret's value cannot serve as a token.
var ErrTokenValue = errors.New("the value is not 32 to 4,096 printable characters without spaces, on one line")

// TokenText reads a token from a Secret's value: a trailing newline is cut; MinTokenLength to MaxTokenLength printable ASCII
// characters have to remain.
func TokenText(value []byte) (string, error) {
	n := len(value)
	if n > 0 && value[n-1] == '\n' {
		n--
	}
	if n > 0 && value[n-1] == '\r' {
		n--
	}
	if n < MinTokenLength || n > MaxTokenLength {
		return "", ErrTokenValue
	}
	for _, c := range value[:n] {
		if c <= ' ' || c > '~' {
			return "", ErrTokenValue
		}
	}
	return string(value[:n]), nil
}

// Issue is a token's value as a Secret holds it.
type Issue struct {
	// Digest is the SHA-256 of the value.
	Digest library.Digest
	// At is when it was issued.
	At time.Time
}

// NewIssue digests a value.
func NewIssue(text string, at time.Time) Issue {
	return Issue{Digest: sha256.Sum256([]byte(text)), At: at}
}

// Expires is when a value issued then is refused, by the present spec; zero means never.
func (i Issue) Expires(spec v1alpha1.AccessTokenSpec) time.Time {
	if spec.ExpiresAfter == nil {
		return time.Time{}
	}
	return i.At.Add(spec.ExpiresAfter.Duration)
}

// RotationDue is when the value is to be replaced; zero means never.
func (i Issue) RotationDue(spec v1alpha1.AccessTokenSpec) time.Time {
	if spec.Rotation == nil {
		return time.Time{}
	}
	return i.At.Add(spec.Rotation.Every.Duration)
}

// TokenValues returns the values that a token accepts: the current one first, then those that a rotation has replaced and
// whose overlap lasts. stored are the values that the library accepts now, in the same order; replaced, when not nil, is the
// value that current replaces at now.
//
// The overlap that spec grants at a rotation is kept: a later, shorter one or none does not end it. A stored current
// value that is neither current nor replaced was never in the Secret (the process died before it wrote it), or its Secret was
// deleted, and is dropped. A stored value keeps its Since; a new one gets now.
func TokenValues(spec v1alpha1.AccessTokenSpec, current Issue, replaced *Issue, stored []library.TokenValue, now time.Time) []library.TokenValue {
	var values []library.TokenValue
	add := func(digest library.Digest, expires time.Time) {
		same := func(v library.TokenValue) bool { return v.Digest == digest }
		if slices.ContainsFunc(values, same) {
			return
		}
		since := now.UTC()
		if i := slices.IndexFunc(stored, same); i >= 0 {
			since = stored[i].Since
		}
		values = append(values, library.TokenValue{Digest: digest, Expires: expires, Since: since})
	}
	add(current.Digest, current.Expires(spec))
	if replaced != nil && spec.Rotation != nil {
		end := now.Add(spec.Rotation.Overlap.Duration)
		if e := replaced.Expires(spec); !e.IsZero() && e.Before(end) {
			end = e
		}
		if end.After(now) {
			add(replaced.Digest, end)
		}
	}
	for _, v := range stored[min(1, len(stored)):] {
		if v.Expires.After(now) && (replaced == nil || v.Digest != replaced.Digest) {
			add(v.Digest, v.Expires)
		}
	}
	return values
}
