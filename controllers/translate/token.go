package translate

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// MinTokenLength is the least number of characters of a token that somebody else made.
const MinTokenLength = 32

// ErrTokenValue says that a Secret's value cannot serve as a token.
var ErrTokenValue = errors.New("the value is not at least 32 printable characters without spaces, on one line")

// TokenText reads a token from a Secret's value: a trailing newline is cut; at least MinTokenLength printable ASCII
// characters have to remain.
func TokenText(value []byte) (string, error) {
	n := len(value)
	if n > 0 && value[n-1] == '\n' {
		n--
	}
	if n > 0 && value[n-1] == '\r' {
		n--
	}
	if n < MinTokenLength {
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

// TokenValues returns the values that a token accepts: the current one, and those that a rotation lets work on. stored are
// the values that the library accepts now; replaced, when not nil, is the value that current takes the place of.
//
// A stored value goes on only while its overlap lasts. One that never reached its Secret (the process died between
// storing the digest and writing the Secret) is nobody's, and is dropped.
func TokenValues(spec v1alpha1.AccessTokenSpec, current Issue, replaced *Issue, stored []library.TokenValue, now time.Time) []library.TokenValue {
	values := []library.TokenValue{{Digest: current.Digest, Expires: current.Expires(spec)}}
	if spec.Rotation == nil {
		return values
	}
	end := now.Add(spec.Rotation.Overlap.Duration)
	if replaced != nil {
		if e := replaced.Expires(spec); !e.IsZero() && e.Before(end) {
			end = e
		}
		if end.After(now) {
			values = append(values, library.TokenValue{Digest: replaced.Digest, Expires: end})
		}
	}
	for _, v := range stored {
		if v.Digest == current.Digest || replaced != nil && v.Digest == replaced.Digest {
			continue
		}
		// Overlaps end within Overlap from now; the open or later end of a value says that no rotation has replaced it.
		if v.Expires.IsZero() || !v.Expires.After(now) || v.Expires.After(now.Add(spec.Rotation.Overlap.Duration)) {
			continue
		}
		values = append(values, v)
	}
	return values
}
