package console

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/problems"
)

// maxBody is the maximum size in bytes of the body of a login.
const maxBody = 8 << 10

// These are the token classes in the description of a session.
const (
	classReadWrite = "READ-WRITE"
	classReadOnly  = "READ-ONLY"
)

// description describes a session or a code that can begin a session.
type description struct {
	// ID is the public ID of the session. It is empty for a code.
	ID string `json:"id,omitempty"`
	// User is the name of the person to whom the session belongs. It is empty for a session with a token.
	User     string `json:"user,omitempty"`
	Class    string `json:"class"`
	Property string `json:"property"`
	// Actions contains the names of the actions that the token allows now. The page shows only what they permit. The API enforces them.
	Actions []string `json:"actions"`
	// Expires is the time at which the code expires, or the latest time at which the session expires.
	Expires time.Time `json:"expires"`
}

// describe returns the description of a session with a public ID, or of a code if id is empty. The parameter a contains the rights of the
// token. The session or code expires at the given time, or earlier if its token expires earlier.
func describe(id string, expires time.Time, a Access) description {
	d := description{ID: id, Class: classReadOnly, Property: a.Property, Actions: append([]string{}, a.Actions...), Expires: expires.UTC()}
	if a.ReadWrite {
		d.Class = classReadWrite
	}
	if !a.Expires.IsZero() && a.Expires.Before(d.Expires) {
		d.Expires = a.Expires.UTC()
	}
	return d
}

// describe returns the description of the session.
func (s session) describe(a Access) description {
	d := describe(s.publicID(), s.ends(), a)
	d.User = s.user()
	return d
}

// showSession handles GET requests. It describes the current session. If there is no session, the response has no content. It is not an
// error response, because browsers log failed requests in their consoles.
func (c *console) showSession(w http.ResponseWriter, r *http.Request) error {
	s, a, err := c.admit(w, r, "")
	if p := (*problem)(nil); errors.As(err, &p) && p.kind == problems.LoginRequired {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, http.StatusOK, s.describe(a))
	return nil
}

// logIn handles POST requests. It begins a session with a token or a one-time code, or with what an identity provider has returned.
func (c *console) logIn(w http.ResponseWriter, r *http.Request) error {
	var credentials struct {
		Token, Code   string
		Authorization *authorization
		// As is the choice of a person for whom authorize has returned several AccessTokens.
		As string
	}
	if err := readBody(w, r, &credentials); err != nil {
		return err
	}
	given := 0
	for _, is := range []bool{credentials.Token != "", credentials.Code != "", credentials.Authorization != nil, credentials.As != ""} {
		if is {
			given++
		}
	}
	byProvider := credentials.Authorization != nil || credentials.As != ""
	switch {
	case given != 1:
		return &problem{problems.InvalidBody, `the body must contain either a token or a code: {"token": "…"} or {"code": "…"}`}
	case byProvider && c.people == nil:
		return noProvider
	case credentials.Authorization != nil:
		return c.count(r, c.authorize(w, r, *credentials.Authorization))
	case credentials.As != "":
		return c.count(r, c.choose(w, r, credentials.As))
	}
	token, refusal := strings.TrimSpace(credentials.Token), "the access token is unknown, expired or revoked"
	if credentials.Code != "" {
		token, refusal = "", codeRefusal
	}
	a, err := c.attempt(r, refusal, func() string {
		if credentials.Code != "" {
			token = c.codes.redeem(credentials.Code, c.o.Clock())
		}
		return token
	})
	if err != nil {
		return err
	}
	return c.begin(w, r, session{Token: token}, a)
}

// begin begins a session with the rights a, and ends the previous sessions of the browser.
func (c *console) begin(w http.ResponseWriter, r *http.Request, s session, a Access) error {
	now := c.o.Clock()
	n, ok := c.begun.issue(now)
	if !ok {
		return &problem{problems.RateLimited, fmt.Sprintf("this server has begun too many sessions within %.0f hours: retry later", sessionFor.Hours())}
	}
	for _, before := range c.sessions(r) {
		c.begun.end(before.serial, before.ends(), now)
	}
	s.ID, s.serial, s.Begun, s.Seen = rand.Text(), n, now.Unix(), now.Unix()
	if err := c.setSession(w, s); err != nil {
		return err
	}
	c.o.Logger.InfoContext(r.Context(), "login to the console", s.logged(r, "property", a.Property, "token", a.Token)...)
	w.Header().Set("Content-Type", "application/json")
	answer(w, http.StatusCreated, s.describe(a))
	return nil
}

// logged returns the attributes of a line in the log about a request of the session: the client, the user if there is one, and more.
func (s session) logged(r *http.Request, more ...any) []any {
	all := append([]any{"client", clientOf(r).String()}, more...)
	if s.Person != nil {
		all = append(all, "user", s.Person.User)
	}
	return all
}

// codeRefusal is the detail of the problem for a code that is not valid.
const codeRefusal = "the code is unknown, already used or expired: a code works only once, and only for one minute"

// readBody decodes a JSON body.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &problem{problems.InvalidBody, "the request must have the header Content-Type: application/json"}
	}
	from := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	from.DisallowUnknownFields()
	if from.Decode(into) != nil {
		return &problem{problems.InvalidBody, `the body must be a JSON object with a token or a code: {"token": "…"} or {"code": "…"}`}
	}
	return nil
}

// attempt returns the rights of the token that find returns. If the console cannot use the token, attempt counts a failed login and returns
// a problem. refusal is the detail of the problem for a token that is not valid. A client that has failed too often always gets the same
// problem, which is not logged. A usable token is always accepted, because clients behind one proxy share a counter and one client must not
// lock out the others.
func (c *console) attempt(r *http.Request, refusal string, find func() string) (Access, error) {
	token := find()
	a, ok, err := c.o.Access(r.Context(), token)
	if err != nil {
		return Access{}, err
	}
	var refused *problem
	switch {
	case !ok:
		refused = &problem{problems.LoginRefused, refusal}
	case a.FiltersOnly:
		refused = &problem{problems.ClassRefused, "this token can only list the items of certain filters: log in with another token"}
	case len(token) > maxToken:
		refused = &problem{problems.ClassRefused, fmt.Sprintf("this token is too long: the console accepts at most %d characters", maxToken)}
	default:
		return a, nil
	}
	return Access{}, c.count(r, refused)
}

// count counts a login that was refused, and returns err. If a client has failed too often, the problem is the same for all errors.
func (c *console) count(r *http.Request, err error) error {
	refused := (*problem)(nil)
	if !errors.As(err, &refused) || refused.kind != problems.LoginRefused && refused.kind != problems.ClassRefused {
		return err
	}
	client, now := clientOf(r), c.o.Clock()
	if c.attempts.exceeded(client, now) {
		return &problem{problems.RateLimited, fmt.Sprintf("too many failed logins from this address: retry in %.0f seconds", attemptWindow.Seconds())}
	}
	c.attempts.failed(client, now)
	c.o.Logger.WarnContext(r.Context(), "login to the console refused", "client", client.String(), "error", refused)
	return refused
}

// logOut handles DELETE requests. It ends all sessions of the browser.
func (c *console) logOut(w http.ResponseWriter, r *http.Request) error {
	for _, s := range c.sessions(r) {
		c.begun.end(s.serial, s.ends(), c.o.Clock())
		c.o.Logger.InfoContext(r.Context(), "logout from the console", s.logged(r)...)
	}
	dropSession(w)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
