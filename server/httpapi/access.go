package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
	"github.com/vitrine-dev/vitrine/server/query"
)

// presentedTokens returns all tokens in the query and the headers of a request.
func presentedTokens(r *http.Request, params url.Values) []string {
	var tokens []string
	add := func(token string) {
		if token != "" {
			tokens = append(tokens, token)
		}
	}
	for _, token := range params["access_token"] {
		add(token)
	}
	for _, value := range r.Header.Values("Authorization") {
		add(bearer(value))
	}
	return tokens
}

// bearer returns the token in the value of an Authorization header, or "" if the scheme is not Bearer.
func bearer(value string) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(value), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// authenticate finds the token of the request and the property of that token. It refuses a request with two different tokens.
func (x *exchange) authenticate() error {
	if !x.server.Ready() {
		return &problem{Type: problems.Unavailable, Detail: "the server is starting and has not loaded its tokens yet: retry in a few seconds", retryAfter: time.Second}
	}
	if x.person != (Person{}) && len(x.presented) > 0 {
		return &problem{Type: problems.TokensDiffer, Detail: "the request of a person has a token: send no token"}
	}
	for _, token := range x.presented {
		if x.token != "" && x.token != token {
			return &problem{Type: problems.TokensDiffer, Detail: "the request has two different tokens: send only one, preferably in the Authorization header"}
		}
		x.token = token
	}
	if x.token == "" && x.person == (Person{}) {
		return &problem{Type: problems.TokenRefused,
			Detail: `the request has no access token: send one in the header "Authorization: Bearer TOKEN" or in the parameter "access_token"`}
	}
	g, settings, ok, err := x.server.granted(x.r.Context(), x.findGrant)
	if err != nil {
		return err
	}
	if !ok {
		return &problem{Type: problems.TokenRefused, Detail: "the access token is unknown, expired or revoked"}
	}
	x.grant, x.settings = g, settings
	x.scope, err = x.server.scopes.of(g, settings)
	return err
}

// findGrant returns the grant of the caller, which is a person or has a token.
func (x *exchange) findGrant(now time.Time) (grant, bool) {
	if x.person != (Person{}) {
		return x.server.tokens.findFor(x.person, now)
	}
	return x.server.tokens.find(x.token, now)
}

// granted returns the grant that find returns, and the settings of its property. It returns false if find does, or if the property is not
// served.
func (s *Server) granted(ctx context.Context, find func(now time.Time) (grant, bool)) (grant, library.Property, bool, error) {
	if err := s.current(ctx); err != nil {
		return grant{}, library.Property{}, false, err
	}
	g, ok := find(s.options.Clock())
	if !ok {
		return grant{}, library.Property{}, false, nil
	}
	settings, err := s.lib.Property(g.property)
	if errors.Is(err, library.ErrNotFound) {
		return grant{}, library.Property{}, false, nil
	}
	return g, settings, err == nil, err
}

// errNotLoaded is the error for a check of a token before the tokens are loaded.
var errNotLoaded = fmt.Errorf("%w: the tokens are not loaded yet", library.ErrUnavailable)

// Access describes the rights of a token.
type Access struct {
	// Property is the only property that the token can reach. Owner is the AccessToken.
	Property library.PropertyID
	Owner    library.Owner
	// ReadWrite is true for a token of the class READ-WRITE. FiltersOnly is true for a token that may only list certain filters.
	ReadWrite, FiltersOnly bool
	// Actions contains the names of the actions that the token permits (see library.Actions).
	Actions []string
	// Expires is the first instant at which the token is refused. Zero means never.
	Expires time.Time
}

// Access returns the rights of a token, for other handlers in the same process. It returns false if the API refuses the token. It returns
// an error if the server cannot check the token now.
func (s *Server) Access(ctx context.Context, token string) (Access, bool, error) {
	return s.access(ctx, func(now time.Time) (grant, bool) { return s.tokens.find(token, now) })
}

func (s *Server) access(ctx context.Context, find func(now time.Time) (grant, bool)) (Access, bool, error) {
	if !s.Ready() {
		return Access{}, false, errNotLoaded
	}
	g, _, ok, err := s.granted(ctx, find)
	if !ok {
		return Access{}, false, err
	}
	return Access{
		Property: g.property, Owner: g.owner, ReadWrite: g.rights.ReadWrite, FiltersOnly: g.restricted(), Actions: g.actions(), Expires: g.expires,
	}, true, nil
}

// authorize checks that the class and the actions of the token permit the endpoint.
func (x *exchange) authorize() error {
	if x.route.access == anyToken {
		return nil
	}
	if err := x.needsAllItems(); err != nil {
		return err
	}
	switch {
	case x.route.access == writer && !x.grant.rights.ReadWrite:
		return &problem{Type: problems.ClassRefused, Detail: "this operation needs a READ-WRITE token"}
	case x.route.action != noAction:
		return x.need(x.route.action, "this operation")
	}
	return nil
}

// needsAllItems fails if the token may only list certain filters.
func (x *exchange) needsAllItems() error {
	if x.grant.restricted() {
		return &problem{Type: problems.ClassRefused, Detail: "this token can only list the items of certain filters"}
	}
	return nil
}

// need fails if the token does not permit an action. what is the part of the request that needs the action.
func (x *exchange) need(a library.Action, what string) error {
	if x.grant.rights.Allows(a) {
		return nil
	}
	return &problem{Type: problems.ClassRefused, Detail: fmt.Sprintf("%s needs a token that allows the action %s (spec.allow of the AccessToken)", what, a)}
}

// shownFilter parses a stored filter. It fails if the caller may not see its query and its order.
func (x *exchange) shownFilter(f library.Filter) (library.ParsedFilter, error) {
	p, err := library.ParseFilter(f)
	if err != nil {
		return p, library.Unreadable("filter "+f.UUID, err)
	}
	if _, err := query.Check(p.Query, x.audience()); err != nil || query.CheckOrder(p.Order, x.audience()) != nil {
		return p, x.need(library.ReadPrivate, "the filter uses private fields, so this operation")
	}
	return p, nil
}

// stillValid returns errRevoked if the token of a long request no longer grants the same access. It returns another error if the server
// cannot check the token now.
func (x *exchange) stillValid() error {
	if err := x.server.current(x.r.Context()); err != nil {
		return err
	}
	g, ok := x.findGrant(x.server.options.Clock())
	if !ok || g.property != x.grant.property || !sameRights(g.rights, x.grant.rights) {
		return errRevoked
	}
	return nil
}

// current waits until the server knows the changes that other processes made to tokens.
func (s *Server) current(ctx context.Context) error {
	if f, ok := s.lib.(library.Follower); ok {
		return f.Current(ctx)
	}
	return nil
}
