package translate

import (
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// MinTokenLength and MaxTokenLength limit the number of characters of a token that a user provides. A token longer than MaxTokenLength does
// not fit into a request header.
const (
	MinTokenLength = 32
	MaxTokenLength = 4096
)

// ErrTokenValue means that a value in a Secret cannot serve as a token.
var ErrTokenValue = errors.New("the value is not one line of 32 to 4,096 printable ASCII characters without spaces")

// TokenText reads a token from a value in a Secret. It removes a trailing newline. The rest must be MinTokenLength to MaxTokenLength
// printable ASCII characters without spaces.
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

// Issue identifies the value of a token and its time of issue.
type Issue struct {
	// Digest is the SHA-256 of the value.
	Digest library.Digest
	// At is the time at which the value was issued.
	At time.Time
}

// NewIssue returns the Issue of a value.
func NewIssue(text string, at time.Time) Issue {
	return Issue{Digest: sha256.Sum256([]byte(text)), At: at}
}

// Expires returns the time at which the value expires according to spec, or the zero time if it never expires.
func (i Issue) Expires(spec v1alpha1.AccessTokenSpec) time.Time {
	if spec.ExpiresAfter == nil {
		return time.Time{}
	}
	return i.At.Add(spec.ExpiresAfter.Duration)
}

// RotationDue returns the time at which the value has to be replaced according to spec, or the zero time if it is never replaced.
func (i Issue) RotationDue(spec v1alpha1.AccessTokenSpec) time.Time {
	if spec.Rotation == nil {
		return time.Time{}
	}
	return i.At.Add(spec.Rotation.Every.Duration)
}

// TokenValues returns the values that the server accepts for a token: first the current value, then the values that a rotation has replaced
// and whose overlap has not ended. stored contains the values that the library accepts now, in the same order. replaced is the value that
// current replaces at the time now, or nil if current replaces none.
//
// A replaced value keeps the overlap that spec had at the rotation, even if a later spec has a shorter overlap or none. TokenValues drops
// the first stored value if it is neither current nor replaced. This happens if the process died before it wrote that value to the Secret,
// or if the Secret was deleted. A stored value keeps its Since; the Since of a new value is now.
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
