package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// problemType is the last segment of a problem's type URI. docs/http-api.md lists all problem types.
type problemType string

const (
	invalidParameter   problemType = "invalid-parameter"
	missingParameter   problemType = "missing-parameter"
	invalidHeader      problemType = "invalid-header"
	invalidBody        problemType = "invalid-body"
	syntaxError        problemType = "syntax-error"
	queryTooExpensive  problemType = "query-too-expensive"
	cursorUnusable     problemType = "cursor-unusable"
	tokensDiffer       problemType = "tokens-differ"
	tokenRefused       problemType = "token-refused"
	classRefused       problemType = "class-refused"
	originRefused      problemType = "origin-refused"
	fieldPrivate       problemType = "field-private"
	managed            problemType = "managed"
	notFound           problemType = "not-found"
	methodNotAllowed   problemType = "method-not-allowed"
	exists             problemType = "exists"
	preconditionFailed problemType = "precondition-failed"
	tooLarge           problemType = "too-large"
	unacceptable       problemType = "unacceptable"
	rateLimited        problemType = "rate-limited"
	tooManyQueries     problemType = "too-many-queries"
	internal           problemType = "internal"
	maintenance        problemType = "maintenance"
	unavailable        problemType = "unavailable"
)

// about returns the status and the title of problems of this type.
func (t problemType) about() (status int, title string) {
	switch t {
	case invalidParameter:
		return http.StatusBadRequest, "A parameter is not valid"
	case missingParameter:
		return http.StatusBadRequest, "A parameter is missing"
	case invalidHeader:
		return http.StatusBadRequest, "A header is not valid"
	case invalidBody:
		return http.StatusBadRequest, "The body is not valid"
	case syntaxError:
		return http.StatusBadRequest, "The query or the order cannot be parsed"
	case queryTooExpensive:
		return http.StatusBadRequest, "The query takes too long"
	case cursorUnusable:
		return http.StatusBadRequest, "The listing cannot be continued"
	case tokensDiffer:
		return http.StatusBadRequest, "Two different tokens were sent"
	case tokenRefused:
		return http.StatusForbidden, "No valid token"
	case classRefused:
		return http.StatusForbidden, "The token does not allow this request"
	case originRefused:
		return http.StatusForbidden, "The origin is not allowed"
	case fieldPrivate:
		return http.StatusForbidden, "The field is private"
	case managed:
		return http.StatusForbidden, "Managed by a manifest"
	case notFound:
		return http.StatusNotFound, "Not found"
	case methodNotAllowed:
		return http.StatusMethodNotAllowed, "Method not allowed"
	case exists:
		return http.StatusConflict, "Already exists"
	case preconditionFailed:
		return http.StatusPreconditionFailed, "A condition is not met"
	case tooLarge:
		return http.StatusRequestEntityTooLarge, "Too large"
	case unacceptable:
		return http.StatusUnprocessableEntity, "A value cannot be accepted"
	case rateLimited:
		return http.StatusTooManyRequests, "Too many requests"
	case tooManyQueries:
		return http.StatusTooManyRequests, "Too many queries at a time"
	case maintenance:
		return http.StatusServiceUnavailable, "Maintenance"
	case unavailable:
		return http.StatusServiceUnavailable, "Unavailable"
	}
	return http.StatusInternalServerError, "Internal error"
}

// problemBase is the prefix of all problem type URIs.
const problemBase = "https://vitrine.dev/problems/"

// problem is an error that the caller receives as a problem document (RFC 9457).
type problem struct {
	Type   problemType
	Detail string
	// If a parameter, a header or a member of the body is invalid, Parameter or Member contains its name.
	Parameter, Member string
	// Syntax is the syntax error in a query or an order, with its position.
	Syntax *query.SyntaxError
	// UnknownIDs lists all item ids that do not exist.
	UnknownIDs []item.ID
	// retryAfter, if not 0, is sent in the header Retry-After.
	retryAfter time.Duration
	// allow lists the methods that the path accepts. It is set for methodNotAllowed.
	allow string
}

func (p *problem) Error() string { return p.Detail }

func (p *problem) status() int {
	status, _ := p.Type.about()
	return status
}

// problemDocument is the JSON form of a problem.
type problemDocument struct {
	Type       string    `json:"type"`
	Title      string    `json:"title"`
	Status     int       `json:"status"`
	Detail     string    `json:"detail"`
	Parameter  string    `json:"parameter,omitempty"`
	Member     string    `json:"member,omitempty"`
	Position   *int      `json:"position,omitempty"`
	Near       *string   `json:"near,omitempty"`
	Expected   *string   `json:"expected,omitempty"`
	UnknownIDs []item.ID `json:"unknown_ids,omitempty"`
}

// document returns the problem document to send. redact removes the caller's tokens from texts that quote the request.
func (p *problem) document(redact func(string) string) problemDocument {
	status, title := p.Type.about()
	d := problemDocument{
		Type: problemBase + string(p.Type), Title: title, Status: status, Detail: redact(p.Detail),
		Parameter: p.Parameter, Member: redact(p.Member), UnknownIDs: p.UnknownIDs,
	}
	if s := p.Syntax; s != nil {
		near, expected := redact(s.Near), redact(s.Expected)
		d.Position, d.Near, d.Expected = &s.Position, &near, &expected
	}
	return d
}

// problemOf maps an error to a problem. If the server is at fault, the type is internal, and only the log shows the cause.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*query.SyntaxError](err); ok {
		return &problem{Type: syntaxError, Detail: e.Error(), Syntax: e}
	}
	if e, ok := errors.AsType[*query.ForbiddenFieldError](err); ok {
		return &problem{Type: fieldPrivate, Detail: e.Error()}
	}
	if e, ok := errors.AsType[*query.FieldError](err); ok {
		return &problem{Type: invalidParameter, Detail: e.Error()}
	}
	if e, ok := errors.AsType[*item.InvalidError](err); ok {
		p := &problem{Type: unacceptable, Detail: e.Error(), Member: e.Member}
		if e.Malformed {
			p.Type = invalidBody
		}
		return p
	}
	if e, ok := errors.AsType[*library.UnknownItemsError](err); ok {
		return &problem{
			Type: unacceptable, Member: "ugc_ids", UnknownIDs: e.IDs,
			Detail: "nothing was changed, because these items do not exist: " + named(e.IDs),
		}
	}
	if e, ok := errors.AsType[*library.ManagedError](err); ok {
		return &problem{Type: managed, Detail: e.Error() + ": change the manifest"}
	}
	if e, ok := errors.AsType[*library.CursorError](err); ok {
		return &problem{Type: cursorUnusable, Parameter: "cursor", Detail: e.Error()}
	}
	if e, ok := errors.AsType[*library.OffsetError](err); ok {
		return &problem{Type: invalidParameter, Parameter: "page", Detail: e.Error()}
	}
	if e, ok := errors.AsType[*library.FrozenError](err); ok {
		return &problem{Type: unavailable, Detail: frozenDetail + e.Since.UTC().Format(time.RFC3339), retryAfter: 30 * time.Second}
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &problem{Type: tooLarge, Detail: fmt.Sprintf("the body is longer than %d bytes", e.Limit)}
	}
	return problemWithoutDetails(err)
}

// problemWithoutDetails returns the problem for an error whose type says nothing more.
func problemWithoutDetails(err error) *problem {
	switch {
	case errors.Is(err, library.ErrNotFound):
		return &problem{Type: notFound, Detail: "the requested object does not exist in this property"}
	case errors.Is(err, library.ErrExists):
		return &problem{Type: exists, Detail: library.ErrExists.Error() + ": send on_conflict=replace to replace it"}
	case errors.Is(err, library.ErrInvalid):
		return &problem{Type: unacceptable, Detail: err.Error()}
	case errors.Is(err, library.ErrUnreadable):
		return &problem{Type: internal, Detail: "this version of the server cannot parse the stored query of this filter: store the filter again"}
	case errors.Is(err, library.ErrNoProperty):
		return &problem{Type: tokenRefused, Detail: "the property of this token does not exist"}
	case diskFull(err):
		return &problem{Type: unavailable, Detail: diskFullDetail, retryAfter: 5 * time.Second}
	case errors.Is(err, library.ErrUnavailable), errors.Is(err, library.ErrClosed):
		return &problem{Type: unavailable, Detail: "the store is unavailable: retry later", retryAfter: 5 * time.Second}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &problem{Type: unavailable, Detail: "the request was canceled", retryAfter: time.Second}
	}
	return &problem{Type: internal, Detail: internalDetail}
}

// internalDetail is the detail of every internal problem.
const internalDetail = "the server failed to process the request: the log of the server has the cause, under the X-Request-Id of this response"

// diskFullDetail is the detail of a problem that a full disk causes. It does not contain the path of the data directory, because callers
// can only wait. The log contains the path.
const diskFullDetail = "the server's disk is full. Reads continue. Writes resume automatically after an administrator " +
	"has enlarged the volume of the data directory or freed space on it"

// frozenDetail is the detail of a problem that a frozen library causes. The time of the freeze follows.
const frozenDetail = "the library is being moved to another store. Reads continue, but the library has accepted no writes since "

// diskFull reports whether err means that the store refuses writes because its disk is full or its quota is exhausted.
func diskFull(err error) bool {
	return errors.Is(err, library.ErrUnavailable) && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
}

// named returns at most the first twenty ids as text.
func named(ids []item.ID) string {
	const most = 20
	var words []string
	for _, id := range ids[:min(len(ids), most)] {
		words = append(words, strconv.FormatInt(id, 10))
	}
	if more := len(ids) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words, ", "), more)
	}
	return strings.Join(words, ", ")
}

// inParameter adds to err the name of the parameter that contains the invalid query or order.
func inParameter(err error, name string) error {
	return located(err, func(p *problem) { p.Parameter = cmp.Or(p.Parameter, name) })
}

// inMember adds to err the name of the member of the body that contains the invalid query or order.
func inMember(err error, name string) error {
	return located(err, func(p *problem) { p.Member = cmp.Or(p.Member, name) })
}

// located returns the problem of err, to which the function in has added a location. It returns internal errors unchanged.
func located(err error, in func(*problem)) error {
	p := *problemOf(err)
	if p.Type == internal {
		return err
	}
	in(&p)
	return &p
}

func missing(name string) error {
	return &problem{Type: missingParameter, Parameter: name, Detail: fmt.Sprintf("parameter %q is required", name)}
}

func invalid(name, format string, args ...any) error {
	return &problem{Type: invalidParameter, Parameter: name, Detail: fmt.Sprintf("parameter %q ", name) + fmt.Sprintf(format, args...)}
}

func absent(format string, args ...any) error {
	return &problem{Type: notFound, Detail: fmt.Sprintf(format, args...)}
}
