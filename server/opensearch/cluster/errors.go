package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// ResponseError is an error response of the cluster. It contains only the innermost cause in the response.
type ResponseError struct {
	Status int
	Type   string
	// Reason is empty if the error is about the request, because such a reason may quote items or queries, which contain personal data.
	Reason string
	// Complex is true if a pattern in the request takes too many steps to compile.
	Complex bool
	// Foreign is true if the body is not an error response of OpenSearch. A proxy sent the response, or it was cut off, so it says nothing
	// about documents, indices or the request.
	Foreign bool
}

// Error describes the response.
func (e *ResponseError) Error() string {
	text := fmt.Sprintf("OpenSearch returned %d %s", e.Status, e.Type)
	if e.Foreign {
		text = fmt.Sprintf("the response %d %s is not a response of OpenSearch", e.Status, e.Type)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Is reports whether target is library.ErrUnavailable and the response means that the cluster cannot process requests now.
func (e *ResponseError) Is(target error) bool {
	return target == library.ErrUnavailable &&
		(e.passing() || e.blocked() || e.Foreign || e.indexMissing() || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// passing reports whether the same request may succeed soon.
func (e *ResponseError) passing() bool {
	switch e.Status {
	case http.StatusTooManyRequests:
		return !e.blocked()
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return e.Foreign && e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden
}

// blocked reports whether an index rejects writes, for example because the disk is full (flood stage).
func (e *ResponseError) blocked() bool { return e.Type == "cluster_block_exception" }

// indexMissing reports whether an index does not exist, because it was deleted by hand or has not been created yet.
func (e *ResponseError) indexMissing() bool { return e.Type == "index_not_found_exception" }

// IsWriteBlock reports whether err means that an index has the setting index.blocks.write. It returns false for the block that OpenSearch
// sets when the disk is full. It also returns false for an index of a frozen library, even if a rebuild blocked the index before the
// freeze. Such an index has the setting index.blocks.read_only.
func IsWriteBlock(err error) bool {
	var answer *ResponseError
	return errors.As(err, &answer) && answer.blocked() && strings.Contains(answer.Reason, "/8/") && !strings.Contains(answer.Reason, "/5/")
}

// cause is an error in the form in which the cluster reports it.
type cause struct {
	Type     string `json:"type"`
	Reason   string `json:"reason"`
	CausedBy *cause `json:"caused_by"`
}

// quoted lists the texts that begin a quotation of the request in a reason. The quotation can contain a document.
var quoted = []string{"\n", " Timeout: [", ", request: ["}

// complex reports whether a pattern takes too many steps to compile. For some patterns, Lucene 9 says so only in the reason.
func (c *cause) complex() bool {
	return c.Type == "too_complex_to_determinize_exception" || strings.HasPrefix(c.Reason, "input automaton is too large: ")
}

// Failure returns the error of a response. It contains the last cause of the chain, and the reason without the part that quotes the
// request.
func (c *cause) Failure(status int) *ResponseError {
	for c.CausedBy != nil {
		c = c.CausedBy
	}
	e := &ResponseError{Status: status, Type: c.Type, Complex: c.complex()}
	if status >= http.StatusInternalServerError || errors.Is(e, library.ErrUnavailable) {
		e.Reason = c.Reason
		for _, start := range quoted {
			e.Reason, _, _ = strings.Cut(e.Reason, start)
		}
	}
	return e
}

func newResponseError(status int, header http.Header, body []byte) *ResponseError {
	var answer struct {
		Error struct {
			cause
			FailedShards []struct {
				Reason cause `json:"reason"`
			} `json:"failed_shards"`
		} `json:"error"`
	}
	if decode(header, body, &answer) == nil && answer.Error.Type != "" {
		if shards := answer.Error.FailedShards; len(shards) > 0 {
			return shards[0].Reason.Failure(status)
		}
		return answer.Error.Failure(status)
	}
	// OpenSearch describes an absent alias with a text, and an absent document with found.
	var absent struct {
		Error string `json:"error"`
		Found *bool  `json:"found"`
	}
	known := decode(header, body, &absent) == nil && (absent.Error != "" || absent.Found != nil)
	return &ResponseError{Status: status, Type: http.StatusText(status), Foreign: !known}
}

// unreachableError means that the cluster sent no response.
type unreachableError struct{ cause error }

// Error returns the reason why there is no response.
func (e *unreachableError) Error() string { return "OpenSearch cannot be reached: " + e.cause.Error() }

// Unwrap returns library.ErrUnavailable and the cause.
func (e *unreachableError) Unwrap() []error { return []error{library.ErrUnavailable, e.cause} }

// passes reports whether a failed request may succeed if the caller sends it again.
func passes(err error) bool {
	var answer *ResponseError
	if errors.As(err, &answer) {
		return answer.passing()
	}
	var lost *unreachableError
	var incomplete *incompleteError
	return errors.As(err, &lost) || errors.As(err, &incomplete)
}

// isForeign reports whether err means that something other than OpenSearch sent the response. The credentials can be wrong, too: for these,
// OpenSearch responds with plain text.
func isForeign(err error) bool {
	var answer *ResponseError
	if errors.As(err, &answer) {
		return answer.Foreign && answer.Status < http.StatusInternalServerError && !slices.Contains(
			[]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, answer.Status)
	}
	var incomplete *incompleteError
	return errors.As(err, &incomplete)
}

// hasStatus reports whether err is a response with the given HTTP status.
func hasStatus(err error, status int) bool {
	var answer *ResponseError
	return errors.As(err, &answer) && answer.Status == status
}

// HasType reports whether err is a response with the given error type.
func HasType(err error, name string) bool {
	var answer *ResponseError
	return errors.As(err, &answer) && answer.Type == name
}

// IsBlocked reports whether err means that an index rejects writes.
func IsBlocked(err error) bool {
	var answer *ResponseError
	return errors.As(err, &answer) && answer.blocked()
}

// IsAbsent reports whether err means that a document or an alias of an index does not exist.
func IsAbsent(err error) bool {
	var answer *ResponseError
	return errors.As(err, &answer) && answer.Status == http.StatusNotFound && !answer.indexMissing() && !answer.Foreign
}

// IsIndexMissing reports whether err means that an index does not exist.
func IsIndexMissing(err error) bool {
	var answer *ResponseError
	return errors.As(err, &answer) && answer.indexMissing()
}

// TooLarge returns the error for a query that has more clauses than the cluster accepts, including the clauses for rules of tags and
// units, or a pattern that takes the cluster too many steps to compile. For other errors, it returns nil.
func TooLarge(err error) error {
	var answer *ResponseError
	switch {
	case !errors.As(err, &answer):
	case answer.Complex:
		return &query.SyntaxError{
			Reason: "a pattern is too complex for OpenSearch", Expected: "fewer repetitions and alternatives", Limit: true,
		}
	case strings.HasPrefix(answer.Type, "too_many_"):
		return &query.SyntaxError{
			Reason: "too many clauses for OpenSearch after the rules of tags and units were added", Expected: "a shorter query", Limit: true,
		}
	}
	return nil
}

// incompleteError means that a response is not a whole response of OpenSearch. The cluster may have processed the request.
type incompleteError struct {
	request string // method and path
	lacks   string
}

// Error describes the response. It does not quote the response, which may contain items.
func (e *incompleteError) Error() string {
	return fmt.Sprintf("the response to %s is not a complete response of OpenSearch: %s", e.request, e.lacks)
}

// Is reports whether target is library.ErrUnavailable.
func (e *incompleteError) Is(target error) bool { return target == library.ErrUnavailable }
