package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
)

// as sends a request of a person.
func (a *app) as(p httpapi.Person, r *http.Request) answer {
	a.t.Helper()
	return a.serve(r.WithContext(httpapi.WithPerson(r.Context(), p)))
}

// TestPeople checks which tokens a person may use, and that a request of a person has exactly the rights of the token.
func TestPeople(t *testing.T) {
	a := newApp(t)
	jo := library.Subject{User: "jo@shop.example"}
	team := library.Subject{Group: "team"}
	moderators := tokenDefinition(shop, "moderators", library.Token{ReadWrite: true, Query: "id:1001", Allow: []library.Action{library.Moderate}, Subjects: []library.Subject{team}})
	writers := tokenDefinition(shop, "writers", library.Token{ReadWrite: true, Subjects: []library.Subject{{Group: "jo@shop.example"}, jo, team}})
	readers := tokenDefinition(other, "readers", library.Token{Subjects: []library.Subject{{User: "team"}}})
	expired := tokenDefinition(shop, "expired", library.Token{
		ReadWrite: true, Subjects: []library.Subject{jo}, Values: []library.TokenValue{{Digest: digest("expired"), Expires: began}},
	})
	a.apply(moderators, writers, readers, expired)
	found := func(user string, groups ...string) string {
		t.Helper()
		people, err := a.server.People(t.Context(), user, groups)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, p := range people {
			if p.User != user {
				t.Errorf("%+v is not %s", p, user)
			}
			all = append(all, strings.TrimSuffix(p.Token.Name+" "+p.Group, " "))
		}
		return strings.Join(all, ", ")
	}
	a.eventually("the tokens are known", func() bool { return found("jo@shop.example") != "" })
	for _, c := range []struct{ user, group, want string }{
		{"jo@shop.example", "", "writers"},
		{"jo@shop.example", "team", "moderators team, writers"},
		{"an@shop.example", "team", "moderators team, writers team"},
		{"an@shop.example", "jo@shop.example", "writers jo@shop.example"},
		{"team", "", "readers"},
		{"JO@shop.example", "Team", ""},
		{"", "", ""},
	} {
		if got := found(c.user, c.group); got != c.want {
			t.Errorf("%s in %s may use %q, want %q", c.user, c.group, got, c.want)
		}
	}

	an := httpapi.Person{User: "an@shop.example", Group: "team", Token: moderators.Owner}
	for _, c := range []struct {
		p      httpapi.Person
		call   call
		status int
	}{
		{an, call{url: "/v2/content/1001"}, 200},
		{an, call{url: "/v2/content/1002"}, 404},
		{an, call{method: "PATCH", url: "/v2/content/1001", body: `{"approval_status":"rej"}`}, 200},
		{an, call{method: "DELETE", url: "/v2/content/1001"}, 403},
		{an, call{url: "/v2/content/1001", token: "rw"}, 400},
		{an, call{url: "/v2/content/1001", bearer: "rw"}, 400},
		{httpapi.Person{User: "an@shop.example", Token: moderators.Owner}, call{url: "/v2/content/1001"}, 403},
		{httpapi.Person{User: "an@shop.example", Group: "other", Token: moderators.Owner}, call{url: "/v2/content/1001"}, 403},
		{httpapi.Person{User: "jo@shop.example", Token: expired.Owner}, call{url: "/v2/content/1001"}, 403},
		{httpapi.Person{User: "jo@shop.example", Token: owner(library.KindToken, "rw")}, call{url: "/v2/content/1001"}, 403},
		{httpapi.Person{User: "jo@shop.example", Token: writers.Owner}, call{url: "/v2/content/1002"}, 200},
	} {
		if got := a.as(c.p, c.call.request()); got.status != c.status {
			t.Errorf("%s %s as %+v: status %d, want %d: %s", c.call.method, c.call.url, c.p, got.status, c.status, got.body)
		}
	}
	if log := a.log.String(); !strings.Contains(log, `token="AccessToken shop/moderators"`) || !strings.Contains(log, "user=an@shop.example") {
		t.Errorf("the log does not name the person and the token:\n%s", log)
	}

	if got, ok, err := a.server.PersonAccess(t.Context(), an); !ok || err != nil || got.Property != shop || got.Owner != moderators.Owner || !got.ReadWrite {
		t.Errorf("PersonAccess: %+v %t %v", got, ok, err)
	}
	a.apply(tokenDefinition(shop, "moderators", library.Token{ReadWrite: true, Subjects: []library.Subject{{User: "an@shop.example"}}}))
	a.eventually("the token no longer names the group", func() bool { return a.as(an, call{url: "/v2/content/1001"}.request()).status == 403 })
}

// TestPersonLosesRights removes the subject of a person whose request is in progress.
func TestPersonLosesRights(t *testing.T) {
	a := newApp(t)
	d := tokenDefinition(shop, "team", library.Token{ReadWrite: true, Subjects: []library.Subject{{Group: "team"}}})
	a.apply(d)
	an := httpapi.Person{User: "an", Group: "team", Token: d.Owner}
	a.eventually("the token is known", func() bool { _, ok, _ := a.server.PersonAccess(t.Context(), an); return ok })
	r := call{method: "PATCH", url: "/v2/content/1001", body: `{"featured":true}`}.request()
	body := r.Body
	named := true
	r.Body = readFunc(func(p []byte) (int, error) {
		if named {
			named = false
			a.apply(tokenDefinition(shop, "team", library.Token{ReadWrite: true}))
			a.eventually("the server knows the change", func() bool { _, ok, _ := a.server.PersonAccess(context.Background(), an); return !ok })
		}
		return body.Read(p)
	})
	if got := a.as(an, r); got.status != http.StatusForbidden {
		t.Errorf("status %d, want 403: %s", got.status, got.body)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
func (f readFunc) Close() error               { return nil }

// TestPeopleTooEarly checks that a server that has not loaded its tokens reports an error, and does not refuse the login.
func TestPeopleTooEarly(t *testing.T) {
	a := newApp(t)
	early, err := httpapi.New(a.lib, httpapi.Options{Clock: func() time.Time { return began }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := early.People(t.Context(), "an", nil); err == nil {
		t.Error("People returned no error")
	}
	if _, _, err := early.PersonAccess(t.Context(), httpapi.Person{User: "an"}); err == nil {
		t.Error("PersonAccess returned no error")
	}
}
