package console

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/vitrine-dev/vitrine/server/problems"
)

// OIDC configures the login of people through an identity provider that supports OpenID Connect.
type OIDC struct {
	// Issuer is the URL of the provider. Its scheme is https, or http on a loopback address. Required.
	Issuer string
	// ClientID and ClientSecret identify the console at the provider. ClientSecret must have at least 16 bytes, because the key of the
	// sessions of people depends on it. Required.
	ClientID, ClientSecret string
	// RootCAs verifies the certificate of the provider. Default: the certificate authorities of the system.
	RootCAs *x509.CertPool
	// RedirectURL is the URL of the login page, as callers reach it. It ends with LoginPath. Required.
	RedirectURL string
	// UsernameClaim and GroupsClaim are the claims with the name and the groups of a person. Required.
	UsernameClaim, GroupsClaim string
	// Scopes are the scopes that the console requests in addition to openid.
	Scopes []string
	// SessionFor is the maximum duration of the session of a person. The server learns the groups of a person only at login, so the session
	// keeps them for this time. Required.
	SessionFor time.Duration

	// People returns a Person for each AccessToken that names a user or one of the groups of the user. Required.
	People func(ctx context.Context, user string, groups []string) ([]Person, error)
	// Access returns the rights of a person. It returns false if the AccessToken is no longer valid, or no longer names the person. The
	// console calls Access for each request of a session. Required.
	Access func(context.Context, Person) (Access, bool, error)
	// As returns the context with which the API answers a request of a person. Required.
	As func(context.Context, Person) context.Context
}

// Person is a person with the rights of an AccessToken.
type Person struct {
	// User is the name of the person. Group is the group of the person that the AccessToken names, or "" if it names User.
	User  string `json:"user"`
	Group string `json:"group,omitempty"`
	// Token is the AccessToken.
	Token AccessToken `json:"token"`
}

// AccessToken identifies an AccessToken.
type AccessToken struct {
	// Install is the identity of its cluster.
	Install   string `json:"install,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns a text that is different for each AccessToken.
func (t AccessToken) String() string { return t.Install + "/" + t.Namespace + "/" + t.Name }

// LoginPath is the path of the login page. The provider redirects browsers to this page.
const LoginPath = Path + "login"

// Check returns an error if the settings of the provider and of the client are not valid.
func (o *OIDC) Check() error {
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return fmt.Errorf("the issuer %q must be an https URL without a query (or an http URL on a loopback address), exactly as the identity provider shows it", o.Issuer)
	}
	if o.ClientID == "" {
		return errors.New("the client ID is missing")
	}
	if len(o.ClientSecret) < minKey {
		return fmt.Errorf("the client secret has %d characters: at least %d are needed", len(o.ClientSecret), minKey)
	}
	to, err := url.Parse(o.RedirectURL)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" || to.Hostname() == "" || to.Path != LoginPath || to.RawQuery != "" || to.Fragment != "" {
		return fmt.Errorf("the redirect URL %q must be an absolute URL with the path %s", o.RedirectURL, LoginPath)
	}
	if o.UsernameClaim == "" || o.GroupsClaim == "" {
		return errors.New("the names of the claims must not be empty")
	}
	if o.SessionFor < time.Minute || o.SessionFor > sessionFor {
		return fmt.Errorf("the duration of a session is %s: it must be between 1m and %s", o.SessionFor, sessionFor)
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

const (
	// clockSkew is the time by which the clocks of the provider and of the server may differ.
	clockSkew = time.Minute
	// providerTimeout limits each request to the provider.
	providerTimeout = 10 * time.Second
	// retryProvider is the minimum time between the end of an attempt to load the configuration of the provider and the next attempt, so that
	// many logins do not cause many requests to a provider that does not respond.
	retryProvider = 2 * time.Second
	// maxName is the maximum length of the name of a user or a group, as in AccessToken.spec.subjects.
	maxName = 253
)

// provider is the identity provider. It loads the configuration of the provider at the first login.
type provider struct {
	o      *OIDC
	client *http.Client
	clock  func() time.Time

	mu     sync.Mutex
	loaded *loadedProvider
	// tried is the end of the last attempt to load the configuration, and err is its error.
	tried time.Time
	err   error
}

// loadedProvider is the configuration of the provider. The flow remembers how the provider expects the client secret.
type loadedProvider struct {
	*oidc.Provider
	flow *oauth2.Config
}

func newProvider(o *OIDC, clock func() time.Time) *provider {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12}
	return &provider{o: o, client: &http.Client{Transport: transport, Timeout: providerTimeout}, clock: clock}
}

// host returns the name of the provider for people.
func (p *provider) host() string {
	u, err := url.Parse(p.o.Issuer)
	if err != nil {
		return p.o.Issuer
	}
	return u.Host
}

// load returns the configuration of the provider. After a failure, it tries again at the next login.
func (p *provider) load() (*loadedProvider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded == nil && (p.tried.IsZero() || p.clock().Sub(p.tried) >= retryProvider) {
		// No request's context, because the result belongs to all requests. The client has a timeout.
		found, err := oidc.NewProvider(oidc.ClientContext(context.Background(), p.client), p.o.Issuer)
		// An attempt takes longer than retryProvider if the provider does not respond. The logins that wait for it must not try again, one
		// after the other, so the time counts from its end.
		if p.tried, p.err = p.clock(), err; err == nil {
			p.loaded = &loadedProvider{found, &oauth2.Config{
				ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: p.o.RedirectURL,
				Scopes: append([]string{oidc.ScopeOpenID}, p.o.Scopes...),
			}}
		}
	}
	return p.loaded, p.err
}

// providerError is the error for a provider that does not respond as expected. People see only detail, and cause is for the log.
type providerError struct {
	detail string
	cause  error
}

func (e *providerError) Error() string { return e.detail + ": " + e.cause.Error() }
func (e *providerError) Unwrap() error { return e.cause }

// begin returns the URL at the provider to which the browser goes for a login.
func (p *provider) begin(state, nonce, verifier string) (string, error) {
	loaded, err := p.load()
	if err != nil {
		return "", &providerError{"the identity provider " + p.host() + " does not respond, or its configuration does not match that of the server", err}
	}
	return loaded.flow.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// finish exchanges the code of the provider for the name and the groups of the person.
func (p *provider) finish(ctx context.Context, code, nonce, verifier string) (user string, groups []string, err error) {
	loaded, err := p.load()
	if err != nil {
		return "", nil, &providerError{"the identity provider " + p.host() + " does not respond", err}
	}
	ctx = oidc.ClientContext(ctx, p.client)
	answer, err := loaded.flow.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" {
		return "", nil, refuse("the identity provider does not accept the code of this login: it was already used, or has expired")
	}
	if err != nil {
		return "", nil, &providerError{"the identity provider " + p.host() + " does not complete the login", err}
	}
	raw, _ := answer.Extra("id_token").(string)
	verify := loaded.Verifier(&oidc.Config{ClientID: p.o.ClientID, Now: func() time.Time { return p.clock().Add(-clockSkew) }})
	token, err := verify.Verify(ctx, raw)
	if expired := (*oidc.TokenExpiredError)(nil); errors.As(err, &expired) {
		return "", nil, refuse("the ID token expired at %s: check the clocks of the server and of the identity provider", expired.Expiry.UTC().Format(time.RFC3339))
	}
	if err != nil {
		return "", nil, refuse("the ID token of the identity provider is not valid (%s)", strings.TrimPrefix(err.Error(), "oidc: "))
	}
	if token.Nonce != nonce {
		return "", nil, refuse("the ID token of the identity provider belongs to another login")
	}
	claims := claims{}
	if err := token.Claims(&claims); err != nil {
		return "", nil, refuse("the claims of the ID token cannot be read")
	}
	if azp := claims.text("azp"); azp != "" && azp != p.o.ClientID {
		return "", nil, refuse("the identity provider issued the ID token to another client (azp)")
	}
	if claims[p.o.UsernameClaim] == nil || claims[p.o.GroupsClaim] == nil {
		if err := p.complete(ctx, claims, loaded, token.Subject, answer); err != nil && claims[p.o.UsernameClaim] == nil {
			return "", nil, &providerError{"the identity provider " + p.host() + " does not return the claims of the person", err}
		}
	}
	return p.identify(claims)
}

// complete adds claims that are not in the ID token, but that the provider returns at its UserInfo endpoint.
func (p *provider) complete(ctx context.Context, claims claims, loaded *loadedProvider, subject string, answer *oauth2.Token) error {
	if loaded.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := loaded.UserInfo(ctx, oauth2.StaticTokenSource(answer))
	if err != nil {
		return err
	}
	if info.Subject != subject {
		return errors.New("the UserInfo endpoint describes another person than the ID token")
	}
	more := map[string]json.RawMessage{}
	if err := info.Claims(&more); err != nil {
		return err
	}
	for name, value := range more {
		if claims[name] == nil {
			claims[name] = value
		}
	}
	return nil
}

// identify returns the name and the groups of the person in the claims.
func (p *provider) identify(claims claims) (user string, groups []string, err error) {
	user = claims.text(p.o.UsernameClaim)
	if user == "" {
		return "", nil, refuse("the identity provider does not return the claim %s, which is the name of the person: "+
			"an administrator must change the scopes or the claim in the settings of the console", p.o.UsernameClaim)
	}
	if len(user) > maxName || strings.ContainsFunc(user, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", nil, refuse("the claim %s is longer than %d bytes, or contains control characters", p.o.UsernameClaim, maxName)
	}
	if verified := string(claims["email_verified"]); p.o.UsernameClaim == "email" && verified != "" && verified != "true" && verified != `"true"` {
		return "", nil, refuse("the identity provider has not verified the email address %s", user)
	}
	if json.Unmarshal(claims[p.o.GroupsClaim], &groups) != nil {
		groups = nil
		if one := claims.text(p.o.GroupsClaim); one != "" {
			groups = []string{one}
		}
	}
	// No AccessToken can name such a group, and the log must not become long.
	return user, slices.DeleteFunc(groups, func(g string) bool { return g == "" || len(g) > maxName }), nil
}

// claims are the claims about a person by name.
type claims map[string]json.RawMessage

// text returns a claim, or "" if it is absent or not a string.
func (c claims) text(name string) (text string) {
	if json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

func refuse(format string, args ...any) *problem {
	return &problem{problems.LoginRefused, fmt.Sprintf(format, args...)}
}
