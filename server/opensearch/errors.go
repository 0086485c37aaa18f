package opensearch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// responseError is an answer of the cluster that is no success, with the innermost cause that it names.
type responseError struct {
	Status int
	Type   string
	// Reason is "" where the cluster judges the request: there it may quote items or queries, which hold personal data.
	Reason string
}

// Error says what the cluster answers.
func (e *responseError) Error() string {
	text := fmt.Sprintf("OpenSearch answers %d %s", e.Status, e.Type)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Is makes an answer that means that the cluster cannot serve now a library.ErrUnavailable.
func (e *responseError) Is(target error) bool {
	return target == library.ErrUnavailable &&
		(e.passing() || e.blocked() || e.indexMissing() || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// passing reports whether the same request may succeed soon.
func (e *responseError) passing() bool {
	switch e.Status {
	case http.StatusTooManyRequests:
		return !e.blocked()
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// blocked reports whether an index takes no writes, as on a full disk (flood stage).
func (e *responseError) blocked() bool { return e.Type == "cluster_block_exception" }

// indexMissing reports whether an index is not there: deleted by hand, or not made yet.
func (e *responseError) indexMissing() bool { return e.Type == "index_not_found_exception" }

// cause is an error as the cluster describes it.
type cause struct {
	Type     string `json:"type"`
	Reason   string `json:"reason"`
	CausedBy *cause `json:"caused_by"`
}

// failure makes the error of an answer with a status: of the last cause of a chain, with the first line of its reason.
func (c *cause) failure(status int) *responseError {
	for c.CausedBy != nil {
		c = c.CausedBy
	}
	e := &responseError{Status: status, Type: c.Type}
	if status >= http.StatusInternalServerError || errors.Is(e, library.ErrUnavailable) {
		e.Reason, _, _ = strings.Cut(c.Reason, "\n")
	}
	return e
}

func newResponseError(status int, body []byte) *responseError {
	var answer struct {
		Error struct {
			cause
			FailedShards []struct {
				Reason cause `json:"reason"`
			} `json:"failed_shards"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return &responseError{Status: status, Type: http.StatusText(status)} // a proxy's, or a text
	}
	if shards := answer.Error.FailedShards; len(shards) > 0 {
		return shards[0].Reason.failure(status)
	}
	return answer.Error.failure(status)
}

// unreachableError means that no answer came.
type unreachableError struct{ cause error }

// Error says why no answer came.
func (e *unreachableError) Error() string { return "OpenSearch cannot be reached: " + e.cause.Error() }

// Unwrap returns library.ErrUnavailable and the cause.
func (e *unreachableError) Unwrap() []error { return []error{library.ErrUnavailable, e.cause} }

// passes reports whether a request that failed may succeed when it is sent again.
func passes(err error) bool {
	var answer *responseError
	if errors.As(err, &answer) {
		return answer.passing()
	}
	var lost *unreachableError
	return errors.As(err, &lost)
}

// hasStatus reports whether the cluster answered with a status.
func hasStatus(err error, status int) bool {
	var answer *responseError
	return errors.As(err, &answer) && answer.Status == status
}

// hasType reports whether the cluster named a type of error.
func hasType(err error, name string) bool {
	var answer *responseError
	return errors.As(err, &answer) && answer.Type == name
}

// isAbsent reports whether the cluster answered that a document is not there.
func isAbsent(err error) bool {
	var answer *responseError
	return errors.As(err, &answer) && answer.Status == http.StatusNotFound && !answer.indexMissing()
}

// isIndexMissing reports whether the cluster answered that an index is not there.
func isIndexMissing(err error) bool {
	var answer *responseError
	return errors.As(err, &answer) && answer.indexMissing()
}

// isAboutQuery reports whether an error is about a query rather than about the cluster.
func isAboutQuery(err error) bool {
	var syntax *query.SyntaxError
	var forbidden *query.ForbiddenFieldError
	return errors.As(err, &syntax) || errors.As(err, &forbidden)
}

// tooLarge is the error of a query that has more clauses than the cluster takes, once the rules of tags and units are added; nil
// for other errors.
func tooLarge(err error) error {
	var answer *responseError
	if errors.As(err, &answer) && strings.HasPrefix(answer.Type, "too_many_") {
		return &query.SyntaxError{
			Reason: "too many clauses for OpenSearch once the rules of tags and units are added", Expected: "a shorter query", Limit: true,
		}
	}
	return nil
}
