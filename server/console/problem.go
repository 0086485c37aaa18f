package console

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// problemType is the last segment of the type URI of a problem. docs/console-setup.md lists the types that the console uses.
type problemType string

const (
	invalidBody      problemType = "invalid-body"
	loginRequired    problemType = "login-required"
	loginRefused     problemType = "login-refused"
	classRefused     problemType = "class-refused"
	requestRefused   problemType = "origin-refused"
	notFound         problemType = "not-found"
	methodNotAllowed problemType = "method-not-allowed"
	hostRefused      problemType = "host-refused"
	tooManyAttempts  problemType = "rate-limited"
	unavailable      problemType = "unavailable"
)

// about returns the status and the title of problems of this type.
func (t problemType) about() (status int, title string) {
	switch t {
	case invalidBody:
		return http.StatusBadRequest, "The body is not valid"
	case loginRequired:
		return http.StatusUnauthorized, "Not logged in"
	case loginRefused:
		return http.StatusUnauthorized, "The login failed"
	case classRefused:
		return http.StatusForbidden, "The token does not allow this request"
	case requestRefused:
		return http.StatusForbidden, "The origin is not allowed"
	case notFound:
		return http.StatusNotFound, "Not found"
	case methodNotAllowed:
		return http.StatusMethodNotAllowed, "Method not allowed"
	case hostRefused:
		return http.StatusMisdirectedRequest, "The host name is not allowed"
	case tooManyAttempts:
		return http.StatusTooManyRequests, "Too many requests"
	case unavailable:
	}
	return http.StatusServiceUnavailable, "Unavailable"
}

// problem is an error that callers receive as a problem document (RFC 9457), in the same form as the errors of the API.
type problem struct {
	kind   problemType
	detail string
}

func (p *problem) Error() string { return p.detail }

func (p *problem) write(w http.ResponseWriter) {
	status, title := p.kind.about()
	h := w.Header()
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		h.Set("Retry-After", strconv.Itoa(int(attemptWindow.Seconds())))
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "5")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/problem+json")
	answer(w, status, struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"https://vitrine.dev/problems/" + string(p.kind), title, status, p.detail})
}

// answer writes a response with a JSON body.
func answer(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the caller has disconnected
}
