package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// presentedTokens returns every token in the query and the headers of a request.
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

// bearer returns the token of an Authorization header, or "" if the scheme is not Bearer.
func bearer(value string) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(value), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// authenticate finds the request's token and the property that it is scoped to. It refuses a request with two different
// tokens.
func (x *exchange) authenticate() error {
	if !x.server.Ready() {
		return &problem{Type: unavailable, Detail: "the server is starting and has not loaded its tokens yet: retry in a few seconds", retryAfter: time.Second}
	}
	for _, token := range x.presented {
		if x.token != "" && x.token != token {
			return &problem{Type: tokensDiffer, Detail: "the request has two different tokens: send only one, preferably in the Authorization header"}
		}
		x.token = token
	}
	if x.token == "" {
		return &problem{Type: tokenRefused, Detail: "send an access token: Authorization: Bearer, or the parameter access_token"}
	}
	if err := x.server.current(x.r.Context()); err != nil {
		return err
	}
	g, ok := x.server.tokens.find(x.token, x.server.options.Clock())
	if !ok {
		return &problem{Type: tokenRefused, Detail: "the access token is unknown, expired or revoked"}
	}
	settings, err := x.server.lib.Property(g.property)
	if errors.Is(err, library.ErrNotFound) {
		return &problem{Type: tokenRefused, Detail: "the access token is unknown, expired or revoked"}
	}
	if err != nil {
		return err
	}
	x.grant, x.settings = g, settings
	return nil
}

// authorize checks that the class of the token permits the endpoint.
func (x *exchange) authorize() error {
	switch {
	case x.route.access == filterReader:
		return nil
	case x.grant.restricted:
		return &problem{Type: classRefused, Detail: "this token can only list its filters"}
	case x.route.access == writer && !x.grant.readWrite:
		return &problem{Type: classRefused, Detail: "this operation needs a READ-WRITE token"}
	}
	return nil
}

// stillValid returns errRevoked if the token of a long request no longer grants the same access, and another error if the server
// cannot know that now.
func (x *exchange) stillValid() error {
	if err := x.server.current(x.r.Context()); err != nil {
		return err
	}
	g, ok := x.server.tokens.find(x.token, x.server.options.Clock())
	if !ok || g.property != x.grant.property || g.readWrite != x.grant.readWrite {
		return errRevoked
	}
	return nil
}

// current waits until the server knows the tokens that other processes have changed.
func (s *Server) current(ctx context.Context) error {
	if f, ok := s.lib.(library.Follower); ok {
		return f.Current(ctx)
	}
	return nil
}
