package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/vitrine-dev/vitrine/server/problems"
)

// people is the login through an identity provider.
type people struct {
	*OIDC
	provider *provider
	// host is the host name of the login page, in lower case.
	host string
	// sessions and logins seal the sessions of people, and their logins that are in progress. In contrast to a session with a token, such a
	// cookie contains no secret, so an attacker must not be able to seal one. Therefore, the keys depend on the client secret, which no
	// backup contains, in addition to the key of the library.
	sessions, logins *sealer
	// begun numbers the logins, and remembers those that were completed.
	begun *register
}

func newPeople(o *OIDC, key []byte, clock func() time.Time) (*people, error) {
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("the login through an identity provider: %w", err)
	}
	digest := sha256.Sum256(key)
	both := append(digest[:], o.ClientSecret...)
	page, err := url.Parse(o.RedirectURL)
	if err != nil {
		return nil, err // Check has parsed it
	}
	p := &people{OIDC: o, provider: newProvider(o, clock), host: strings.ToLower(page.Hostname()), begun: newRegister(loginFor, maxIssued)}
	if p.sessions, err = newSealer(both, "vitrine console person v1"); err != nil {
		return nil, err
	}
	p.logins, err = newSealer(both, "vitrine console login v1")
	return p, err
}

const (
	// loginFor is the time that a person may spend at the provider, and then to choose an AccessToken.
	loginFor = 10 * time.Minute
	// loginCookie is the name of the cookie of a login that is in progress. The browser sends it only to sessionPath.
	loginCookie = "__Secure-vitrine-login"
	sessionPath = Path + "session"
	// maxCookie is the maximum length of a cookie's value. Browsers accept 4096 bytes for the name, the value and the attributes.
	maxCookie = 3800
)

// login is the content of the cookie of a login that is in progress. Either the person is at the provider, and State is set. Or the
// provider has identified the person, and User is set.
type login struct {
	serial
	// Until is the time at which the login is over, in Unix seconds.
	Until int64 `json:"until"`
	// State is the text that the provider must return. Nonce must be in the ID token. Verifier proves that the code is for this login (PKCE).
	State    string `json:"state,omitempty"`
	Nonce    string `json:"nonce,omitempty"`
	Verifier string `json:"verifier,omitempty"`
	// User is the name of the person. Groups are the groups of the person that AccessTokens name.
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// setLogin sends the cookie of a login, which it numbers and which then lasts for loginFor.
func (c *console) setLogin(w http.ResponseWriter, l login) error {
	now := c.o.Clock()
	var ok bool
	if l.serial, ok = c.people.begun.issue(now); !ok {
		return &problem{problems.RateLimited, "this server has begun too many logins: retry later"}
	}
	l.Until = now.Add(loginFor).Unix()
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a login: %w", err)
	}
	value := base64.RawURLEncoding.EncodeToString(c.people.logins.seal(text))
	if len(value) > maxCookie {
		return refuse("the AccessTokens name too many of your groups: ask an administrator to name you, or a few large groups, instead")
	}
	http.SetCookie(w, &http.Cookie{
		Name: loginCookie, Value: value, Path: sessionPath, MaxAge: int(loginFor.Seconds()), HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	})
	return nil
}

// takeLogin returns the login of a request if accept does, and ends it, so that each login works once. It refuses a request with several
// cookies, because a sibling subdomain can add one.
func (c *console) takeLogin(w http.ResponseWriter, r *http.Request, accept func(login) bool) (login, error) {
	refused := refuse("this browser did not begin this login, or began another one later, or the login took longer than %.0f minutes: log in again", loginFor.Minutes())
	sent := r.CookiesNamed(loginCookie)
	if len(sent) != 1 {
		return login{}, refused
	}
	sealed, err := base64.RawURLEncoding.DecodeString(sent[0].Value)
	if err != nil {
		return login{}, refused
	}
	text, ok := c.people.logins.open(sealed)
	if !ok {
		return login{}, refused
	}
	var l login
	now := c.o.Clock()
	if json.Unmarshal(text, &l) != nil || now.Unix() >= l.Until || !accept(l) || !c.people.begun.end(l.serial, time.Unix(l.Until, 0), now) {
		return login{}, refused
	}
	http.SetCookie(w, &http.Cookie{Name: loginCookie, Path: sessionPath, MaxAge: -1, HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode})
	return l, nil
}

// showProvider handles GET requests. It describes the login through an identity provider. If there is none, the response has no content.
func (c *console) showProvider(w http.ResponseWriter, _ *http.Request) error {
	if c.people == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, http.StatusOK, struct {
		Provider string `json:"provider"`
		// Page is the URL of the login page. The login works only there.
		Page string `json:"page"`
	}{c.people.provider.host(), c.people.RedirectURL})
	return nil
}

// beginLogin handles POST requests. It returns the URL at the identity provider to which the browser goes next.
func (c *console) beginLogin(w http.ResponseWriter, r *http.Request) error {
	if c.people == nil {
		return noProvider
	}
	l := login{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	to, err := c.people.provider.begin(l.State, l.Nonce, l.Verifier)
	if err != nil {
		return c.ofProvider(r, err)
	}
	if err := c.setLogin(w, l); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, http.StatusCreated, struct {
		URL string `json:"url"`
	}{to})
	return nil
}

var noProvider = &problem{problems.NotFound, "this server has no login through an identity provider"}

// ofProvider logs an error of the provider, and returns the problem for the person.
func (c *console) ofProvider(r *http.Request, err error) error {
	e := (*providerError)(nil)
	if !errors.As(err, &e) {
		return err
	}
	c.o.Logger.ErrorContext(r.Context(), "login through the identity provider", "error", e)
	return &problem{problems.Unavailable, e.detail + ": retry later, or log in with an access token"}
}

// authorization is what the identity provider has added to the URL of the login page.
type authorization struct{ Code, State, Error string }

// authorize begins a session for the person whom the provider has identified. If several AccessTokens name the person, the response lists
// them, and the person chooses one.
func (c *console) authorize(w http.ResponseWriter, r *http.Request, sent authorization) error {
	l, err := c.takeLogin(w, r, func(l login) bool {
		return l.State != "" && subtle.ConstantTimeCompare([]byte(l.State), []byte(sent.State)) == 1
	})
	if err != nil {
		return err
	}
	if sent.Error != "" || sent.Code == "" {
		return refuse("the identity provider %s refused the login (%s)", c.people.provider.host(), errorCode.FindString(sent.Error))
	}
	user, groups, err := c.people.provider.finish(r.Context(), sent.Code, l.Nonce, l.Verifier)
	if err != nil {
		return c.ofProvider(r, err)
	}
	choices, err := c.choices(r, user, groups)
	if err != nil {
		return err
	}
	switch len(choices) {
	case 0:
		return refuse("you are %s%s. No valid AccessToken names you or one of your groups in spec.subjects: ask the administrators of your property to add you",
			user, listed(groups))
	case 1:
		return c.beginPerson(w, r, choices[0])
	}
	l = login{User: user}
	for _, choice := range choices {
		if g := choice.person.Group; g != "" && !slices.Contains(l.Groups, g) {
			l.Groups = append(l.Groups, g)
		}
	}
	if err := c.setLogin(w, l); err != nil {
		return err
	}
	type option struct {
		As   string `json:"as"`
		Name string `json:"name"`
		description
	}
	var options []option
	for _, choice := range choices {
		t := choice.person.Token
		options = append(options, option{t.String(), t.Namespace + "/" + t.Name, describe("", time.Unix(c.o.Clock().Unix(), 0).Add(c.people.SessionFor), choice.access)})
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, http.StatusOK, struct {
		User    string   `json:"user"`
		Choices []option `json:"choices"`
	}{user, options})
	return nil
}

// errorCode is what the console repeats of an error code in the URL, which anyone can write.
var errorCode = regexp.MustCompile(`^[a-z_]{0,40}`)

// listed returns the groups of a person for a message.
func listed(groups []string) string {
	const most = 20
	switch more := len(groups) - most; {
	case len(groups) == 0:
		return ", in no group"
	case more > 0:
		return fmt.Sprintf(", in the groups %s and %d more", strings.Join(groups[:most], ", "), more)
	}
	return ", in the groups " + strings.Join(groups, ", ")
}

// choice is an AccessToken that a person may use.
type choice struct {
	person Person
	access Access
}

// choices returns the AccessTokens that name a user or one of the groups of the user.
func (c *console) choices(r *http.Request, user string, groups []string) ([]choice, error) {
	all, err := c.people.People(r.Context(), user, groups)
	if err != nil {
		return nil, err
	}
	var choices []choice
	for _, p := range all {
		a, ok, err := c.people.Access(r.Context(), p)
		if err != nil {
			return nil, err
		}
		if ok {
			choices = append(choices, choice{p, a})
		}
	}
	return choices, nil
}

// choose begins a session with one of the AccessTokens that name the person.
func (c *console) choose(w http.ResponseWriter, r *http.Request, as string) error {
	l, err := c.takeLogin(w, r, func(l login) bool { return l.User != "" })
	if err != nil {
		return err
	}
	choices, err := c.choices(r, l.User, l.Groups)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(choices, func(of choice) bool { return of.person.Token.String() == as })
	if i < 0 {
		return refuse("the AccessToken has expired, was revoked, or no longer names you: log in again")
	}
	return c.beginPerson(w, r, choices[i])
}

// beginPerson begins the session of a person.
func (c *console) beginPerson(w http.ResponseWriter, r *http.Request, of choice) error {
	return c.begin(w, r, session{Person: &of.person, Lasts: int64(c.people.SessionFor.Seconds())}, of.access)
}
