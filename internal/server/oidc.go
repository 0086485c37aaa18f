package server

import (
	"bytes"
	"context"
	"crypto/x509"
	"net/url"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/console"
	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
)

// OIDC is the flags for the login of people to the console through an identity provider.
type OIDC struct {
	issuer, clientID, secretFile, caFile string
	redirectURL                          string
	usernameClaim, groupsClaim           string
	scopes                               []string
	sessionFor                           time.Duration

	// options are the settings that Validate has read.
	options *console.OIDC
}

// Bind declares the flags.
func (f *OIDC) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.issuer, "console-oidc-issuer-url", "", "https URL of an OpenID Connect identity provider, through which people log in to the console (default: people log in only with access tokens)")
	fs.StringVar(&f.clientID, "console-oidc-client-id", "", "ID of the console's client at the identity provider")
	fs.StringVar(&f.secretFile, "console-oidc-client-secret-file", "", "file with the secret of the client, read at the start; a new secret ends the sessions of people")
	fs.StringVar(&f.caFile, "console-oidc-ca-file", "", "PEM file of CA certificates that verify the identity provider, read at the start (default: the system's CA certificates)")
	fs.StringVar(&f.redirectURL, "console-oidc-redirect-url", "", "URL of the login page, with the path "+console.LoginPath+", to which the identity provider returns people (default: this path at the host of the server's external URL)")
	fs.StringVar(&f.usernameClaim, "console-oidc-username-claim", "email", "claim with the name of a person, as in spec.subjects of an AccessToken; people must not be able to change it themselves")
	fs.StringVar(&f.groupsClaim, "console-oidc-groups-claim", "groups", "claim with the groups of a person, as in spec.subjects of an AccessToken")
	fs.StringSliceVar(&f.scopes, "console-oidc-scopes", []string{"profile", "email"}, "scopes to request in addition to openid")
	fs.DurationVar(&f.sessionFor, "console-oidc-session", time.Hour, "how long a session of a person lasts, and therefore the groups from its login: 1m to 12h")
}

// Validate checks the flags and reads their files. on is true if the server has a console.
func (f *OIDC) Validate(on bool, externalURL string) error {
	if f.issuer == "" {
		if f.clientID != "" || f.secretFile != "" || f.caFile != "" || f.redirectURL != "" {
			return exit.Usagef("the --console-oidc flags need --console-oidc-issuer-url")
		}
		return nil
	}
	if !on {
		return exit.Usagef("--console-oidc-issuer-url needs --console")
	}
	if f.secretFile == "" {
		return exit.Usagef("--console-oidc-issuer-url needs --console-oidc-client-secret-file")
	}
	secret, err := os.ReadFile(f.secretFile)
	if err != nil {
		return exit.Usagef("--console-oidc-client-secret-file: %w", err)
	}
	o := &console.OIDC{
		Issuer: f.issuer, ClientID: f.clientID, ClientSecret: string(bytes.TrimSpace(secret)), RedirectURL: f.redirectURL,
		UsernameClaim: f.usernameClaim, GroupsClaim: f.groupsClaim, Scopes: f.scopes, SessionFor: f.sessionFor,
	}
	if f.caFile != "" {
		pem, err := os.ReadFile(f.caFile)
		if err != nil {
			return exit.Usagef("--console-oidc-ca-file: %w", err)
		}
		if o.RootCAs = x509.NewCertPool(); !o.RootCAs.AppendCertsFromPEM(pem) {
			return exit.Usagef("--console-oidc-ca-file %s: the file contains no certificate in PEM", f.caFile)
		}
	}
	if o.RedirectURL == "" {
		if externalURL == "" {
			return exit.Usagef("--console-oidc-issuer-url needs --external-url or --console-oidc-redirect-url")
		}
		u, err := url.Parse(externalURL)
		if err != nil {
			return exit.Usagef("--external-url: %w", err)
		}
		o.RedirectURL = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: console.LoginPath}).String()
	}
	if err := o.Check(); err != nil {
		return exit.Usagef("the --console-oidc flags are not valid: %w", err)
	}
	f.options = o
	return nil
}

// Set reports whether there is an identity provider.
func (f *OIDC) Set() bool { return f.issuer != "" }

// forConsole returns the settings of the console, or nil if there is no identity provider.
func (f *OIDC) forConsole(api *httpapi.Server) *console.OIDC {
	if f.options == nil {
		return nil
	}
	o := *f.options
	o.People = func(ctx context.Context, user string, groups []string) ([]console.Person, error) {
		all, err := api.People(ctx, user, groups)
		people := make([]console.Person, len(all))
		for i, p := range all {
			people[i] = console.Person{User: p.User, Group: p.Group, Token: console.AccessToken{Install: p.Token.Install, Namespace: p.Token.Namespace, Name: p.Token.Name}}
		}
		return people, err
	}
	o.Access = func(ctx context.Context, p console.Person) (console.Access, bool, error) {
		return forConsole(api.PersonAccess(ctx, personOf(p)))
	}
	o.As = func(ctx context.Context, p console.Person) context.Context {
		return httpapi.WithPerson(ctx, personOf(p))
	}
	return &o
}

func personOf(p console.Person) httpapi.Person {
	return httpapi.Person{User: p.User, Group: p.Group, Token: library.Owner{
		Install: p.Token.Install, Kind: library.KindToken, Namespace: p.Token.Namespace, Name: p.Token.Name,
	}}
}

// forConsole returns the rights that the API returns in the form in which the console needs them.
func forConsole(a httpapi.Access, ok bool, err error) (console.Access, bool, error) {
	return console.Access{
		Property: string(a.Property), Token: a.Owner.String(), ReadWrite: a.ReadWrite, Actions: a.Actions, FiltersOnly: a.FiltersOnly, Expires: a.Expires,
	}, ok, err
}
