package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/problems"
)

// tagList is the value of If-Match or If-None-Match (RFC 9110, 13.1.1 and 13.1.2).
type tagList struct {
	// sent is true if the request contains the header.
	sent bool
	// any is true for the value *, which matches every ETag.
	any  bool
	tags []sentTag
}

// sentTag is an ETag in a request.
type sentTag struct {
	// text is the ETag with its quotes and without W/.
	text string
	weak bool
}

// tagsIn parses a header with a list of ETags. If it fails, the result contains the ETags before the first error.
func tagsIn(h http.Header, name string) (l tagList, err error) {
	lines, sent := h[name]
	l.sent = sent
	text := strings.Join(lines, ",")
	if strings.Trim(text, " \t") == "*" {
		l.any = true
		return l, nil
	}
	const between = " \t,"
	for rest := strings.TrimLeft(text, between); rest != ""; rest = strings.TrimLeft(rest, between) {
		opaque, weak := strings.CutPrefix(rest, "W/")
		n := tagLength(opaque)
		after := strings.TrimLeft(opaque[n:], " \t")
		if n == 0 || after != "" && after[0] != ',' {
			return l, &problem{Type: problems.InvalidHeader, Parameter: name, Detail: fmt.Sprintf(
				"header %q is not valid at position %d: send *, or ETags with their double quotes, separated by commas", name, len(text)-len(rest))}
		}
		l.tags = append(l.tags, sentTag{opaque[:n], weak})
		rest = after
	}
	return l, nil
}

// tagLength returns the length of the quoted ETag at the start of s, or 0 if there is none (RFC 9110, 8.8.3).
func tagLength(s string) int {
	if s == "" || s[0] != '"' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c <= ' ' || c == 0x7F:
			return 0
		}
	}
	return 0
}

// gzipMark ends the ETag of a representation in gzip.
const gzipMark = "-gzip"

// quoteTag returns the ETag for one content coding. Each coding has its own ETag, so the ETag is strong.
func quoteTag(tag string, zip bool) string {
	if zip {
		tag += gzipMark
	}
	return `"` + tag + `"`
}

// plainTag returns the ETag without its quotes and its content coding. All codings of a representation show the same state, so a caller may
// require the state with any of their ETags.
func plainTag(text string) string { return strings.TrimSuffix(strings.Trim(text, `"`), gzipMark) }

// stateTag returns the part of an ETag that identifies the state of an item or a filter. The ETag of a filter's description also contains
// the number of its items, after a colon. Writes of items change that number, but not the filter.
func stateTag(text string) string {
	state, _, _ := strings.Cut(plainTag(text), ":")
	return state
}

// conditions are the conditions under which a request may change something.
type conditions struct {
	match, noneMatch tagList
	// since is the time in If-Unmodified-Since, or zero if the condition does not apply.
	since time.Time
}

// conditions returns the conditions of a write. It fails if a header cannot be parsed, because a caller who sends a condition does not want
// the write without it.
func (x *exchange) conditions() (c conditions, err error) {
	if c.match, err = tagsIn(x.r.Header, "If-Match"); err != nil {
		return c, err
	}
	if c.noneMatch, err = tagsIn(x.r.Header, "If-None-Match"); err != nil {
		return c, err
	}
	if !c.match.sent {
		// RFC 9110, 13.1.4: ignore a value that is not a date.
		c.since, _ = http.ParseTime(x.r.Header.Get("If-Unmodified-Since"))
	}
	return c, nil
}

// onTags reports whether a condition depends on the current ETag.
func (c conditions) onTags() bool { return c.match.sent || c.noneMatch.sent }

// check fails with status 412 if something that exists does not meet the conditions. tag is its ETag without quotes, or "" if it has none.
// modified is the time of its last change, or zero if that is unknown.
func (c conditions) check(tag string, modified time.Time) error {
	named := func(t sentTag) bool { return tag != "" && stateTag(t.text) == tag }
	strong := func(t sentTag) bool { return !t.weak && named(t) }
	unmet := func(reason string) error {
		return &problem{Type: problems.PreconditionFailed, Detail: "nothing was changed, because " + reason}
	}
	switch {
	case tag == "" && !c.match.holds(strong):
		return unmet("this endpoint has no ETag that If-Match could contain: send If-Match only to change or delete an item or a filter")
	case !c.match.holds(strong):
		return unmet("If-Match does not contain the current ETag: read the current state, and send its ETag")
	case !modified.IsZero() && !c.since.IsZero() && modified.Truncate(time.Second).After(c.since):
		return unmet("the last change was later than If-Unmodified-Since allows, at " + modified.UTC().Format(http.TimeFormat))
	case c.noneMatch.any || slices.ContainsFunc(c.noneMatch.tags, named):
		return unmet("If-None-Match contains the current ETag, or is *")
	}
	return nil
}

// holds reports whether If-Match permits the request: the header is absent or *, or contains a matching ETag.
func (l tagList) holds(matches func(sentTag) bool) bool {
	return !l.sent || l.any || slices.ContainsFunc(l.tags, matches)
}

// untagged returns the handler of an endpoint that changes something without an ETag. Without this check, the endpoint would ignore the
// conditions of a request.
func untagged(handle func(*Server, *exchange) error) func(*Server, *exchange) error {
	return func(s *Server, x *exchange) error {
		c, err := x.conditions()
		if err == nil {
			err = c.check("", time.Time{})
		}
		if err != nil {
			return err
		}
		return handle(s, x)
	}
}
