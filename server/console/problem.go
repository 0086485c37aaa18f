package console

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/problems"
)

// problem is an error that callers receive as a problem document (RFC 9457), in the same form as the errors of the API.
type problem struct {
	kind   problems.Type
	detail string
}

func (p *problem) Error() string { return p.detail }

func (p *problem) write(w http.ResponseWriter) {
	h := w.Header()
	switch p.kind.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		h.Set("Retry-After", strconv.Itoa(int(attemptWindow.Seconds())))
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "5")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", problems.MediaType)
	answer(w, p.kind.Status, p.kind.Document(p.detail))
}

// answer writes a response with a JSON body.
func answer(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the caller has disconnected
}
