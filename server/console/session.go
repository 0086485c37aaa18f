package console

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/problems"
)

const (
	// sessionFor is the maximum duration of a session. idleFor is the time without a request after which a session ends.
	sessionFor = 12 * time.Hour
	idleFor    = 2 * time.Hour
	// renewAfter is the age at which the next response replaces a cookie. The replacement restarts idleFor.
	renewAfter = 5 * time.Minute
	// maxToken is the maximum length of a token. A longer token would not fit into a cookie, because browsers accept only 4096 bytes.
	maxToken = 2800
)

// cookieName is the name of the cookie. The prefix makes browsers reject the cookie if it lacks the Secure attribute.
const cookieName = "__Secure-vitrine-console"

// session is the content of a cookie.
type session struct {
	// ID is a random value. Each login creates a new ID. The serial says which session to reject after a logout.
	ID string `json:"id"`
	serial
	// Token is the token of the session, or "" if the session belongs to Person.
	Token  string  `json:"token,omitempty"`
	Person *Person `json:"person,omitempty"`
	// Begun is the time of the login in Unix seconds. Seen is the time of the request that last renewed the cookie.
	Begun int64 `json:"begun"`
	Seen  int64 `json:"seen"`
	// Lasts is the maximum duration of the session of a person, in seconds.
	Lasts int64 `json:"lasts,omitempty"`
}

// user returns the name of the person to whom the session belongs, or "" for a session with a token.
func (s session) user() string {
	if s.Person == nil {
		return ""
	}
	return s.Person.User
}

// publicID returns an ID by which the page knows the session. A renewal of the cookie does not change the ID. The ID reveals nothing
// about the content of the cookie.
func (s session) publicID() string {
	sum := sha256.Sum256([]byte("vitrine console session " + s.ID))
	return hex.EncodeToString(sum[:16])
}

// ends returns the latest time at which the session ends.
func (s session) ends() time.Time {
	lasts := sessionFor
	if s.Person != nil {
		lasts = time.Duration(s.Lasts) * time.Second
	}
	return time.Unix(s.Begun, 0).Add(lasts)
}

func (s session) over(now time.Time) bool {
	return !now.Before(s.ends()) || !now.Before(time.Unix(s.Seen, 0).Add(idleFor))
}

const sessionPurpose = "vitrine console session v1"

// sealSession returns the value of a session's cookie.
func (c *console) sealSession(s session) (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode a session: %w", err)
	}
	by := c.sealer
	if s.Person != nil {
		by = c.people.sessions
	}
	return base64.RawURLEncoding.EncodeToString(by.seal(text)), nil
}

// openSession returns the session in the value of a cookie. It returns false if no server with the same key sealed the value, or if a
// version of Vitrine sealed it that did not number sessions. The key determines whether the session may belong to a person: with the key of
// the other sessions, which a backup contains, anyone could seal a session of any person.
func (c *console) openSession(value string) (session, bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return session{}, false
	}
	text, ok := c.sealer.open(sealed)
	ofPerson := false
	if !ok && c.people != nil {
		text, ok = c.people.sessions.open(sealed)
		ofPerson = ok
	}
	if !ok {
		return session{}, false
	}
	var s session
	return s, json.Unmarshal(text, &s) == nil && s.Server != "" && (s.Person != nil) == ofPerson
}

// cookie returns the cookie of the console with a value. The cookie has no lifetime, so browsers delete it when the user closes them.
func cookie(value string) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: Path, HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	}
}

// setSession sends the cookie of a session.
func (c *console) setSession(w http.ResponseWriter, s session) error {
	value, err := c.sealSession(s)
	if err != nil {
		return err
	}
	http.SetCookie(w, cookie(value))
	return nil
}

// dropSession makes the browser delete the cookie.
func dropSession(w http.ResponseWriter) {
	gone := cookie("")
	gone.MaxAge = -1
	http.SetCookie(w, gone)
}

// presented returns the session of a request. The token of the session may be invalid. presented returns false if the request has no
// session that is still valid. It also returns false if the request has cookies of different sessions: a sibling subdomain can add a
// cookie, and a user must not work in the session of another user.
func (c *console) presented(r *http.Request) (session, bool) {
	all := c.sessions(r)
	if len(all) == 0 {
		return session{}, false
	}
	last := all[len(all)-1]
	differs := func(s session) bool { return s.ID != last.ID }
	return last, !slices.ContainsFunc(all, differs)
}

// sessions returns all sessions from the cookies of a request, except those that have ended. The tokens of these sessions may be invalid.
func (c *console) sessions(r *http.Request) []session {
	var all []session
	for _, sent := range r.CookiesNamed(cookieName) {
		if s, ok := c.openSession(sent.Value); ok && !s.over(c.o.Clock()) && !c.begun.hasEnded(s.serial) {
			all = append(all, s)
		}
	}
	return all
}

// access returns the rights of a session. It returns false if its token is no longer valid, or no longer names the person.
func (c *console) access(ctx context.Context, s session) (Access, bool, error) {
	if s.Person != nil {
		return c.people.Access(ctx, *s.Person)
	}
	return c.o.Access(ctx, s.Token)
}

// admit returns the session of a request and the rights of its token. If id is not empty, admit rejects a session with another public ID.
// It renews the cookie if necessary, so that a session in use does not end, unless the request is a background request.
func (c *console) admit(w http.ResponseWriter, r *http.Request, id string) (session, Access, error) {
	required := &problem{problems.LoginRequired, "there is no session: log in"}
	s, ok := c.presented(r)
	if !ok {
		return session{}, Access{}, required
	}
	if id != "" && id != s.publicID() {
		required.detail = "this browser now has a different session: reload the page"
		return session{}, Access{}, required
	}
	a, ok, err := c.access(r.Context(), s)
	if err != nil {
		return session{}, Access{}, err
	}
	if !ok {
		dropSession(w)
		required.detail = "the access token of this session has expired or was revoked: log in again"
		if s.Person != nil {
			required.detail = "the AccessToken of this session has expired, was revoked, or no longer names you: log in again"
		}
		return session{}, Access{}, required
	}
	if now := c.o.Clock(); r.Header.Get(background) == "" && now.Sub(time.Unix(s.Seen, 0)) >= renewAfter {
		s.Seen = now.Unix()
		if err := c.setSession(w, s); err != nil {
			return session{}, Access{}, err
		}
	}
	return s, a, nil
}
