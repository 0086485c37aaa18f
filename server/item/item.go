package item

import "fmt"

// ID identifies an item within its property. It is from 1 to 2^53-1.
type ID = int64

// MaxID is the largest id of an item, a unit or a filter. Up to this value, all JSON parsers read integers exactly.
const MaxID = 1<<53 - 1

// ValidID reports whether id is a valid id of an item, a unit or a filter, that is, from 1 to MaxID.
func ValidID(id int64) bool { return id >= 1 && id <= MaxID }

// These are the values of approval_status (specification, States and transitions). New items are Pending.
const (
	Approved = "app"
	Rejected = "rej"
	Pending  = "pen"
)

// These are the values of content_type (specification, Content object).
const (
	Image = "image"
	Video = "video"
	Text  = "text"
)

// Active is the content_state of new items (specification, States and transitions).
const Active = "active"

// Direct is the social platform of items that were posted over HTTP.
const Direct = "direct"

const (
	// blank is the filler for URLs that the specification requires.
	blank = "about:blank"
	// epoch is the filler for timestamps that the specification requires.
	epoch = "1970-01-01T00:00:00Z"
)

// Tag names a tag.
type Tag struct{ Namespace, Key string }

// InvalidError describes an invalid body, patch or import line.
type InvalidError struct {
	// Malformed is true for input that cannot be understood (HTTP 400: not JSON, a wrong type, a missing required member), and false for
	// input that is well-formed but not accepted (HTTP 422).
	Malformed bool
	// Member is the path of the invalid member, such as submission.email. "" means the whole document.
	Member string
	// Reason says what is wrong and what to do.
	Reason string
}

func (e *InvalidError) Error() string {
	if e.Member == "" {
		return e.Reason
	}
	return fmt.Sprintf("%s: %s", e.Member, e.Reason)
}
