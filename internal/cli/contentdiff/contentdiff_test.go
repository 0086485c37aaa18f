package contentdiff

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/library"
)

// answers is a Server that answers with a comparison and an error.
type answers struct {
	comparison client.Comparison
	err        error
}

func (a answers) Compare(context.Context, client.Change) (client.Comparison, error) {
	return a.comparison, a.err
}

func definition(kind library.Kind, name string) library.Definition {
	return library.Definition{Owner: library.Owner{Kind: kind, Namespace: "shop", Name: name}}
}

func TestCompareStates(t *testing.T) {
	d := definition(library.KindFilter, "wall")
	d.Filter = &library.Filter{Query: "a", Order: "id:asc"}
	wall := []Manifest{{Definition: d}}
	served := client.Version{Query: "a", SortBy: "id:asc", FavoriteTag: "vibe:calm"}
	other := func(change func(*client.Version)) client.Version {
		v := served
		change(&v)
		return v
	}
	for name, c := range map[string]struct {
		before *client.Version
		after  client.Version
		err    error
		state  string
	}{
		"new":              {nil, served, nil, New},
		"the same":         {&served, served, nil, Unchanged},
		"a favorite tag":   {&served, other(func(v *client.Version) { v.FavoriteTag = "" }), nil, Changed},
		"an order":         {&served, other(func(v *client.Version) { v.SortBy = "id:desc" }), nil, Changed},
		"refused":          {nil, served, &client.Problem{Status: http.StatusBadRequest, Detail: "too long"}, Failed},
		"a private filter": {nil, served, &client.Problem{Status: http.StatusForbidden, Detail: "needs ReadPrivate"}, Failed},
	} {
		got, err := Compare(t.Context(), answers{client.Comparison{Before: c.before, After: c.after}, c.err}, client.Status{}, wall, Options{First: 5})
		if err != nil || len(got) != 1 || got[0].State != c.state {
			t.Errorf("%s: %+v, error %v, want %q", name, got, err, c.state)
		}
	}
	down := errors.New("connection refused")
	if _, err := Compare(t.Context(), answers{err: down}, client.Status{}, wall, Options{First: 5}); !errors.Is(err, down) {
		t.Errorf("a server that is down: error %v", err)
	}
}

// echo is a Server that answers with the queries that it gets.
type echo struct{}

func (echo) Compare(_ context.Context, c client.Change) (client.Comparison, error) {
	out := client.Comparison{After: c.To}
	if c.From.Query != "" {
		out.Before = &c.From
	}
	return out, nil
}

// TestCompareScopes checks which scopes are compared with which.
func TestCompareScopes(t *testing.T) {
	type tokens = map[string]client.Scope
	app, pen, none, hidden := client.Scope{Query: "app"}, client.Scope{Query: "pen"}, client.Scope{}, client.Scope{QueryHidden: true}
	property := func(query string) Manifest {
		d := definition(library.KindProperty, "default")
		d.PropertySpec = &library.Property{ReadOnlyQuery: query}
		return Manifest{Definition: d}
	}
	token := func(query string) Manifest {
		d := definition(library.KindToken, "web")
		d.Token = &library.Token{Query: query}
		return Manifest{Definition: d}
	}
	writer := token("")
	writer.Definition.Token.ReadWrite = true
	guest := func(query string) Manifest {
		m := token(query)
		m.Definition.Token.Guest = true
		return m
	}
	frozen := Manifest{Definition: definition(library.KindToken, "web"), Suspended: true}
	late := Manifest{Definition: definition(library.KindProperty, "default"), Suspended: true}
	for name, c := range map[string]struct {
		readOnly  client.Scope
		tokens    tokens
		manifests []Manifest
		want      []string
	}{
		"a new query":                         {none, tokens{"web": none}, []Manifest{token("app")}, []string{"shop/web changed *:* > app"}},
		"another query":                       {none, tokens{"web": app}, []Manifest{token("pen")}, []string{"shop/web changed app > pen"}},
		"a removed query":                     {none, tokens{"web": app}, []Manifest{token("")}, []string{"shop/web changed app > *:*"}},
		"a removed query, with a default":     {pen, tokens{"web": app}, []Manifest{token("")}, []string{"shop/web changed app > pen"}},
		"a removed query, READ-WRITE":         {pen, tokens{"web": app}, []Manifest{writer}, []string{"shop/web changed app > *:*"}},
		"the same query":                      {none, tokens{"web": app}, []Manifest{token("app")}, []string{"shop/web unchanged app > app"}},
		"the same default":                    {app, tokens{"web": app}, []Manifest{token("")}, []string{"shop/web unchanged app > app"}},
		"a new token":                         {none, nil, []Manifest{token("app")}, []string{"shop/web new > app"}},
		"a new token with the default":        {pen, nil, []Manifest{token("")}, []string{"shop/web new > pen"}},
		"a new token with a new default":      {none, nil, []Manifest{token(""), property("app")}, []string{"shop/default changed *:* > app", "shop/web new > app"}},
		"a new token without a scope":         {pen, nil, []Manifest{writer}, []string{"shop/web new > *:*"}},
		"another default":                     {pen, tokens{"web": pen}, []Manifest{token(""), property("app")}, []string{"shop/default changed pen > app"}},
		"a removed default":                   {pen, tokens{"web": pen}, []Manifest{token(""), property("")}, []string{"shop/default changed pen > *:*"}},
		"another default, not for this token": {pen, tokens{"web": app}, []Manifest{token("app"), property("")}, []string{"shop/default changed pen > *:*", "shop/web unchanged app > app"}},
		"a query instead of the default":      {app, tokens{"web": app}, []Manifest{token("app"), property("")}, []string{"shop/default changed app > *:*", "shop/web unchanged app > app"}},
		"the default instead of a query":      {none, tokens{"web": app}, []Manifest{token(""), property("app")}, []string{"shop/default changed *:* > app", "shop/web unchanged app > app"}},
		"a suspended token":                   {none, tokens{"web": app}, []Manifest{frozen}, []string{"shop/web suspended >"}},
		"the default of a suspended Property": {pen, tokens{"web": app}, []Manifest{token(""), late}, []string{"shop/default suspended >", "shop/web changed app > pen"}},
		"a hidden query":                      {none, tokens{"web": hidden}, []Manifest{token("app")}, []string{"shop/web failed >"}},
		"a hidden default":                    {hidden, nil, []Manifest{token("")}, []string{"shop/web failed >"}},
		"a hidden default, changed or not":    {hidden, tokens{"web": hidden}, []Manifest{token(""), property("app")}, []string{"shop/default failed >"}},
		"a query next to a hidden default":    {hidden, tokens{"web": app}, []Manifest{token("pen")}, []string{"shop/web changed app > pen"}},
		"another namespace: both queries":     {pen, tokens{"web": {Query: "+app +pen"}}, []Manifest{guest("app")}, []string{"shop/web unchanged +app +pen > +app +pen"}},
		"another namespace: no default":       {none, tokens{"web": app}, []Manifest{guest("app")}, []string{"shop/web unchanged app > app"}},
		"another namespace: a hidden default": {hidden, tokens{"web": hidden}, []Manifest{guest("app")}, []string{"shop/web failed >"}},
		"a token of another name":             {none, tokens{"other": app}, []Manifest{token("app")}, []string{"shop/web new > app"}},
	} {
		status := client.Status{ReadOnlyScope: c.readOnly}
		for name, scope := range c.tokens {
			status.Tokens = append(status.Tokens, client.TokenStatus{Namespace: "shop", Name: name, Scope: scope})
		}
		changes, err := Compare(t.Context(), echo{}, status, c.manifests, Options{First: 5})
		var got []string
		for _, change := range changes {
			line := change.Name + " " + change.State
			if change.Before != nil {
				line += " " + change.Before.Query
			}
			if line += " >"; change.After.Query != "" {
				line += " " + change.After.Query
			}
			got = append(got, line)
			if (change.State == Failed) != (change.Problem != "") {
				t.Errorf("%s: state %s with problem %q", name, change.State, change.Problem)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: (-want +got):\n%s%v", name, diff, err)
		}
	}
}
