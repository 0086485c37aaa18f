package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/problems"
)

// codesPath is the path of makeCode.
const codesPath = Path + "codes"

// bearer returns the token in the Authorization header, or an empty string if there is none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// makeCode handles POST requests with a token in the Authorization header. It returns a code for the token and describes the session that
// the code can begin.
func (c *console) makeCode(w http.ResponseWriter, r *http.Request) error {
	token := bearer(r)
	a, err := c.attempt(r, `the access token is missing, unknown, expired or revoked (send it in the header "Authorization: Bearer TOKEN")`, func() string { return token })
	if err != nil {
		return err
	}
	text, expires, ok := c.codes.issue(token, c.o.Clock())
	if !ok {
		return &problem{problems.RateLimited, "this server has issued too many codes within a minute: retry later"}
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, http.StatusCreated, struct {
		Code string `json:"code"`
		description
	}{text, describe("", expires, a)})
	return nil
}

// lookUpCode handles POST requests with a code. It describes the session that the code can begin. The page shows this description and
// asks the user to confirm the login, because any user with a token of another property can create a link with a code.
func (c *console) lookUpCode(w http.ResponseWriter, r *http.Request) error {
	var sent struct{ Code string }
	if err := readBody(w, r, &sent); err != nil {
		return err
	}
	if sent.Code == "" {
		return &problem{problems.InvalidBody, `the body must contain a code: {"code": "…"}`}
	}
	var expires time.Time
	a, err := c.attempt(r, codeRefusal, func() (token string) {
		token, expires = c.codes.lookup(sent.Code, c.o.Clock())
		return token
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, http.StatusOK, describe("", expires, a))
	return nil
}
