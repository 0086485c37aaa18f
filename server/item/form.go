package item

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// form is a type of values that a member accepts.
type form uint8

const (
	formWord       form = iota // a string of at most MaxString bytes
	formName                   // a string of at most MaxString bytes; a blank one counts as absent
	formText                   // a string of at most MaxText bytes
	formLink                   // a URL that a page can link to
	formDate                   // a timestamp
	formCode                   // a short code
	formChoice                 // one of several strings
	formReference              // a string under a name that depends on the platform: see object.reference
	formID                     // a whole number from 1 to MaxID
	formNumber                 // a whole number from 0 to MaxID
	formForeign                // a whole number of another system, of at most 63 bits
	formLatitude               // a number of degrees
	formLongitude              // a number of degrees
	formFlag                   // true or false
	formJSON                   // any JSON
	formSubmission             // an object of strings
)

// isNumber, isFlag and isText report in which part of an Encoded the value is.
func (f form) isNumber() bool { return f == formID || f == formNumber || f == formForeign }
func (f form) isFlag() bool   { return f == formFlag }
func (f form) isText() bool   { return !f.isNumber() && !f.isFlag() }

// quoted reports whether the value is a string in JSON.
func (f form) quoted() bool { return f < formID }

// formed reads a string in one of the forms of strings. It returns "" for formReference.
func (o *object) formed(name string, f form, choices []string) string {
	switch f {
	case formName:
		return o.given(name)
	case formText:
		return o.text(name, MaxText)
	case formLink:
		return o.link(name)
	case formDate:
		return o.timestamp(name)
	case formCode:
		return o.shortCode(name)
	case formChoice:
		return o.oneOf(name, choices...)
	case formReference:
		return ""
	}
	return o.word(name)
}

// oneOf reads a string that must be one of the choices. It returns "" if the string is blank or absent.
func (o *object) oneOf(name string, choices ...string) string {
	s := o.given(name)
	if s == "" {
		return ""
	}
	for _, c := range choices {
		if s == c {
			return s
		}
	}
	o.unacceptable(o.at(name), "must be %s", either(choices))
	return s
}

// either lists choices for a message.
func either(choices []string) string {
	last := len(choices) - 1
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}

// id reads the member id of an item or a unit, an integer from 1 to MaxID. It returns 0 if the member is absent.
func (o *object) id() int64 {
	return zero(o.whole("id", formID))
}

// whole reads a number in one of the forms of whole numbers. It returns nil if the member is absent.
func (o *object) whole(name string, f form) *int64 {
	v := o.get(name)
	if !v.there() {
		return nil
	}
	least, most := int64(0), int64(MaxID)
	switch f {
	case formID:
		least = 1
	case formForeign:
		most = math.MaxInt64
	}
	return o.wholeNumber(o.at(name), v, least, most)
}

// coordinate reads a latitude or a longitude.
func (o *object) coordinate(name string, f form) float64 {
	v, limit := o.get(name), 180.0
	if f == formLatitude {
		limit = 90
	}
	if v.kind != number {
		if v.there() {
			o.wrongType(member{name, v}, "a number")
		}
		return 0
	}
	degrees, err := strconv.ParseFloat(v.text, 64)
	if err != nil || degrees < -limit || degrees > limit {
		o.unacceptable(o.at(name), "must be from -%g to %g", limit, limit)
		return 0
	}
	return degrees
}

// free reads JSON in one of the forms of free JSON.
func (o *object) free(name string, f form) json.RawMessage {
	if f == formSubmission {
		return o.submission()
	}
	return o.raw(name)
}

// timestamp reads a timestamp and normalizes it (see normalTimestamp).
func (o *object) timestamp(name string) string {
	s := o.given(name)
	if s == "" || o.stored {
		return s
	}
	normal, ok := normalTimestamp(s)
	if !ok {
		o.unacceptable(o.at(name), "must be an RFC 3339 timestamp such as 2026-11-20T08:00:00Z, or a date such as 2026-11-20, 2026-11 or 2026")
	}
	return normal
}

// link reads a URL that comes from another system. It keeps the URL unchanged, but refuses schemes that a page must not follow.
func (o *object) link(name string) string {
	s := o.word(name)
	if !harmless(s) {
		o.unacceptable(o.at(name), "must be an http or https URL")
	}
	return s
}

// harmless reports whether a page can safely link to a URL. The URL must not contain control characters. It must have no scheme, have the
// scheme http or https, or be about:blank. harmless ignores blanks at the start and refuses all control characters, because browsers skip
// both when they read the scheme.
func harmless(address string) bool {
	for i := range len(address) {
		if address[i] < ' ' || address[i] == 0x7f {
			return false
		}
	}
	address = strings.TrimSpace(address)
	i := strings.IndexAny(address, ":/?#")
	if i < 0 || address[i] != ':' {
		return true
	}
	switch strings.ToLower(address[:i]) {
	case "http", "https":
		return true
	}
	return address == blank
}

// shortCode reads the code of the server's own short link.
func (o *object) shortCode(name string) string {
	code := o.word(name)
	if len(code) > MaxShortCode || strings.Trim(code, base62) != "" {
		o.unacceptable(o.at(name), "must consist of at most %d letters and digits", MaxShortCode)
	}
	return code
}

// submission reads the member submission, an object of strings, as compact JSON with sorted members. It returns nil if the member is absent
// or empty. Names and values are personal data, so no error contains a value.
func (o *object) submission() json.RawMessage {
	submission := o.child("submission")
	var kept []member
	for _, m := range submission.sorted() {
		if !m.there() {
			continue
		}
		if len(m.name) == 0 || len(m.name) > MaxSubmissionKey {
			o.unacceptable(submission.path, "the names of members must have 1 to %d bytes", MaxSubmissionKey)
			continue
		}
		kept = append(kept, member{m.name, value{kind: text, text: submission.said(m, MaxString)}})
	}
	return o.keepSubmission(kept)
}

// keepSubmission returns a submission in the form in which it is stored.
func (d *decoder) keepSubmission(members []member) json.RawMessage {
	if len(members) > MaxSubmissionMembers {
		d.unacceptable("submission", "at most %d members are accepted", MaxSubmissionMembers)
	}
	if len(members) == 0 {
		return nil
	}
	return appendValue(nil, value{kind: structure, members: members})
}

// zero returns *n, or 0 if n is nil.
func zero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
