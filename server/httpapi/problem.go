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
	"github.com/vitrine-dev/vitrine/server/problems"
	"github.com/vitrine-dev/vitrine/server/query"
)

// problem is an error that the caller receives as a problem document (RFC 9457).
type problem struct {
	Type   problems.Type
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

// problemDocument is the JSON form of a problem.
type problemDocument struct {
	problems.Document
	Parameter  string    `json:"parameter,omitempty"`
	Member     string    `json:"member,omitempty"`
	Position   *int      `json:"position,omitempty"`
	Near       *string   `json:"near,omitempty"`
	Expected   *string   `json:"expected,omitempty"`
	UnknownIDs []item.ID `json:"unknown_ids,omitempty"`
}

// document returns the problem document to send. redact removes the caller's tokens from texts that quote the request.
func (p *problem) document(redact func(string) string) problemDocument {
	d := problemDocument{
		Document: p.Type.Document(redact(p.Detail)), Parameter: p.Parameter, Member: redact(p.Member), UnknownIDs: p.UnknownIDs,
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
		return &problem{Type: problems.SyntaxError, Detail: e.Error(), Syntax: e}
	}
	if e, ok := errors.AsType[*query.ForbiddenFieldError](err); ok {
		return &problem{Type: problems.FieldPrivate, Detail: e.Error()}
	}
	if e, ok := errors.AsType[*query.FieldError](err); ok {
		return &problem{Type: problems.InvalidParameter, Detail: e.Error()}
	}
	if e, ok := errors.AsType[*item.InvalidError](err); ok {
		p := &problem{Type: problems.Unacceptable, Detail: e.Error(), Member: e.Member}
		if e.Malformed {
			p.Type = problems.InvalidBody
		}
		return p
	}
	if e, ok := errors.AsType[*library.UnknownItemsError](err); ok {
		return &problem{
			Type: problems.Unacceptable, Member: "ugc_ids", UnknownIDs: e.IDs,
			Detail: "nothing was changed, because these items do not exist: " + named(e.IDs),
		}
	}
	if e, ok := errors.AsType[*library.ManagedError](err); ok {
		return &problem{Type: problems.Managed, Detail: e.Error() + ": change the manifest"}
	}
	if e, ok := errors.AsType[*library.CursorError](err); ok {
		return &problem{Type: problems.CursorUnusable, Parameter: "cursor", Detail: e.Error()}
	}
	if e, ok := errors.AsType[*library.OffsetError](err); ok {
		return &problem{Type: problems.InvalidParameter, Parameter: "page", Detail: e.Error()}
	}
	if e, ok := errors.AsType[*library.FrozenError](err); ok {
		return &problem{Type: problems.Unavailable, Detail: frozenDetail + e.Since.UTC().Format(time.RFC3339), retryAfter: 30 * time.Second}
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &problem{Type: problems.TooLarge, Detail: fmt.Sprintf("the body is longer than %d bytes", e.Limit)}
	}
	return problemWithoutDetails(err)
}

// problemWithoutDetails returns the problem for an error whose type says nothing more.
func problemWithoutDetails(err error) *problem {
	switch {
	case errors.Is(err, library.ErrNotFound):
		return &problem{Type: problems.NotFound, Detail: "the requested object does not exist in this property"}
	case errors.Is(err, library.ErrExists):
		return &problem{Type: problems.Exists, Detail: library.ErrExists.Error() + ": send on_conflict=replace to replace it"}
	case errors.Is(err, library.ErrInvalid):
		return &problem{Type: problems.Unacceptable, Detail: err.Error()}
	case errors.Is(err, library.ErrUnreadable):
		return &problem{Type: problems.Internal, Detail: "this version of the server cannot parse the stored query of this filter: store the filter again"}
	case errors.Is(err, library.ErrNoProperty):
		return &problem{Type: problems.TokenRefused, Detail: "the property of this token does not exist"}
	case diskFull(err):
		return &problem{Type: problems.Unavailable, Detail: diskFullDetail, retryAfter: 5 * time.Second}
	case errors.Is(err, library.ErrUnavailable), errors.Is(err, library.ErrClosed):
		return &problem{Type: problems.Unavailable, Detail: "the store is unavailable: retry later", retryAfter: 5 * time.Second}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &problem{Type: problems.Unavailable, Detail: "the request was canceled", retryAfter: time.Second}
	}
	return &problem{Type: problems.Internal, Detail: internalDetail}
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
	if p.Type == problems.Internal {
		return err
	}
	in(&p)
	return &p
}

func missing(name string) error {
	return &problem{Type: problems.MissingParameter, Parameter: name, Detail: fmt.Sprintf("parameter %q is required", name)}
}

func invalid(name, format string, args ...any) error {
	return &problem{Type: problems.InvalidParameter, Parameter: name, Detail: fmt.Sprintf("parameter %q ", name) + fmt.Sprintf(format, args...)}
}

func absent(format string, args ...any) error {
	return &problem{Type: problems.NotFound, Detail: fmt.Sprintf(format, args...)}
}
