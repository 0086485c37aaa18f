// Package problems is the table of the problem types with which the server describes errors to callers (RFC 9457).
//
// The package may import only the standard library.
package problems

import "net/http"

// MediaType is the media type of problem documents.
const MediaType = "application/problem+json"

// Type is a type of problems. docs/http-api.md lists the types that the API uses, and docs/console-setup.md those of the console.
type Type struct {
	// Name is the last segment of the type's URI.
	Name string
	// Status is the status of a response with such a problem.
	Status int
	// Title describes the type for people.
	Title string
}

// The types of problems.
var (
	InvalidParameter   = Type{"invalid-parameter", http.StatusBadRequest, "A parameter is not valid"}
	MissingParameter   = Type{"missing-parameter", http.StatusBadRequest, "A parameter is missing"}
	InvalidHeader      = Type{"invalid-header", http.StatusBadRequest, "A header is not valid"}
	InvalidBody        = Type{"invalid-body", http.StatusBadRequest, "The body is not valid"}
	SyntaxError        = Type{"syntax-error", http.StatusBadRequest, "The query or the order cannot be parsed"}
	QueryTooExpensive  = Type{"query-too-expensive", http.StatusBadRequest, "The query takes too long"}
	CursorUnusable     = Type{"cursor-unusable", http.StatusBadRequest, "The listing cannot be continued"}
	TokensDiffer       = Type{"tokens-differ", http.StatusBadRequest, "Two different tokens were sent"}
	LoginRequired      = Type{"login-required", http.StatusUnauthorized, "Not logged in"}
	LoginRefused       = Type{"login-refused", http.StatusUnauthorized, "The login failed"}
	TokenRefused       = Type{"token-refused", http.StatusForbidden, "No valid token"}
	ClassRefused       = Type{"class-refused", http.StatusForbidden, "The token does not allow this request"}
	OriginRefused      = Type{"origin-refused", http.StatusForbidden, "The origin is not allowed"}
	FieldPrivate       = Type{"field-private", http.StatusForbidden, "The field is private"}
	Managed            = Type{"managed", http.StatusForbidden, "Managed by a manifest"}
	NotFound           = Type{"not-found", http.StatusNotFound, "Not found"}
	MethodNotAllowed   = Type{"method-not-allowed", http.StatusMethodNotAllowed, "Method not allowed"}
	Exists             = Type{"exists", http.StatusConflict, "Already exists"}
	PreconditionFailed = Type{"precondition-failed", http.StatusPreconditionFailed, "A condition is not met"}
	TooLarge           = Type{"too-large", http.StatusRequestEntityTooLarge, "Too large"}
	HostRefused        = Type{"host-refused", http.StatusMisdirectedRequest, "The host name is not allowed"}
	Unacceptable       = Type{"unacceptable", http.StatusUnprocessableEntity, "A value cannot be accepted"}
	RateLimited        = Type{"rate-limited", http.StatusTooManyRequests, "Too many requests"}
	TooManyQueries     = Type{"too-many-queries", http.StatusTooManyRequests, "Too many queries at a time"}
	Internal           = Type{"internal", http.StatusInternalServerError, "Internal error"}
	Maintenance        = Type{"maintenance", http.StatusServiceUnavailable, "Maintenance"}
	Unavailable        = Type{"unavailable", http.StatusServiceUnavailable, "Unavailable"}
)

// Document is the JSON form of a problem. A server may add members.
type Document struct {
	// Type is a URI, which ends in Type.Name. Title and Status are those of the type, and Detail says what is wrong and what to do.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// Document returns the document of a problem of this type.
func (t Type) Document(detail string) Document {
	return Document{Type: "https://vitrine.dev/problems/" + t.Name, Title: t.Title, Status: t.Status, Detail: detail}
}
