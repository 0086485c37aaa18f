package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
)

const statusURL = "/v2/content/status"

func TestStatus(t *testing.T) {
	a := newApp(t, func(o *httpapi.Options) {
		o.Rejected = func(_ context.Context, p library.PropertyID) ([]library.Rejection, bool, error) {
			switch p {
			case shop:
				return []library.Rejection{
					{Kind: "Tag", Namespace: "shop", Name: "b", Reason: "ClaimHeld", Message: "second"},
					{Kind: "ContentFilter", Namespace: "shop", Name: "a", Reason: "InvalidQuery", Message: "first"},
				}, true, nil
			case other:
				return nil, true, nil
			}
			return nil, false, nil
		}
	})
	a.table(t, map[string]call{
		"a property": {url: statusURL, token: "rw", contains: []string{
			`{"property":"shop/default","version":"0.1.0-test","items":60,"definitions":{"filters":7,"tags":3,"units":2,"tokens":4},"tokens":`,
			`"rejected":[{"kind":"ContentFilter","namespace":"shop","name":"a","reason":"InvalidQuery","message":"first"},{"kind":"Tag",`,
			`"_links":{"self":{"href":"/base/v2/content/status"}}}`,
			`{"namespace":"shop","name":"rw","class":"READ-WRITE","filters_only":false,"expires":null}`,
			`{"namespace":"shop","name":"expiring","class":"READ-WRITE","filters_only":false,"expires":null}`,
			`{"namespace":"shop","name":"walled","class":"READ-ONLY","filters_only":true,"expires":null}`,
		}, lacks: []string{"_bytes", `"expired"`, "other", "tok-", digest("rw").String()}, want: map[string]string{"Cache-Control": "private, no-store"}},
		"another one":      {url: statusURL, token: "other-rw", contains: []string{`"items":1,`, `"rejected":[]`, `"name":"other-ro"`}, lacks: []string{"InvalidQuery", `"name":"rw"`}},
		"unknown objects":  {url: statusURL, token: "limited-rw", lacks: []string{"rejected"}},
		"read-only":        {url: statusURL, token: "ro", status: 403, contains: []string{"problems/class-refused"}},
		"restricted token": {url: statusURL, token: "walled", status: 403},
	})
}

// TestStatusOfSource checks that the status contains the repository of the Property, and nothing if the Property names none.
func TestStatusOfSource(t *testing.T) {
	a := newApp(t)
	a.do(call{url: statusURL, token: "rw", lacks: []string{`"source"`}})
	a.apply(property(shop, "default", library.Property{PlatformPageID: 4711, Source: &library.Source{Repository: "https://github.com/shop/content", Path: "content"}}))
	a.eventually("the status contains the repository", func() bool {
		got := a.do(call{url: statusURL, token: "rw"})
		return strings.Contains(string(got.body), `"source":{"repository":"https://github.com/shop/content","path":"content"}`)
	})
}

// TestStatusOfTokens checks the expiry time of a token, which is the expiry time of its last valid value.
func TestStatusOfTokens(t *testing.T) {
	a := newApp(t)
	late := tokenDefinition(shop, "late", library.Token{Values: []library.TokenValue{
		{Digest: digest("late-1"), Expires: began.AddDate(0, 0, 1)}, {Digest: digest("late-2"), Expires: began.AddDate(0, 0, 2)},
	}})
	a.apply(late)
	a.eventually("the token is listed with its last expiry", func() bool {
		got := a.do(call{url: statusURL, token: "rw"})
		return strings.Contains(string(got.body), `{"namespace":"shop","name":"late","class":"READ-ONLY","filters_only":false,"expires":"2026-11-23T12:00:00Z"}`)
	})
	a.clock.Advance(48 * time.Hour)
	a.do(call{url: statusURL, token: "rw", lacks: []string{`"name":"late"`}})
}

// TestStatusOfTheOnlyProperty checks that the status contains sizes of the whole server only if they reveal nothing about other properties.
func TestStatusOfTheOnlyProperty(t *testing.T) {
	a, h := newHookedApp(t)
	h.state = func() library.State {
		return library.State{Ready: true, DiskBytes: 17, PropertyItems: map[library.PropertyID]int64{shop: 60}}
	}
	a.do(call{url: statusURL, token: "rw", lacks: []string{"_bytes"}})
	others := []library.Owner{owner(library.KindProperty, "other"), owner(library.KindProperty, "limited"), owner(library.KindProperty, "closed")}
	if _, err := a.lib.Remove(t.Context(), others); err != nil {
		t.Fatal(err)
	}
	a.do(call{url: statusURL, token: "rw", contains: []string{`"store_bytes":17`}})
	h.state = nil // the store has items of the removed properties
	a.do(call{url: statusURL, token: "rw", lacks: []string{"_bytes"}})
}

// TestStatusHidesInternalTokens checks that the status neither lists nor counts a token without an AccessToken, such as the token of
// vitrine dev.
func TestStatusHidesInternalTokens(t *testing.T) {
	a := newApp(t)
	a.apply(tokenDefinition(shop, "/default", library.Token{ReadWrite: true, Values: []library.TokenValue{{Digest: digest("internal")}}}))
	a.eventually("the token is valid", func() bool { return a.send(call{url: statusURL, token: "internal"}).status == 200 })
	a.do(call{url: statusURL, token: "internal", contains: []string{`"tokens":4}`}, lacks: []string{`"name":"/default"`}})
}

func TestStatusThatIsUnknown(t *testing.T) {
	a, h := newHookedApp(t)
	h.state = func() library.State { return library.State{Problem: "no connection to 10.1.2.3"} }
	a.do(call{url: statusURL, token: "rw", status: 503, contains: []string{"problems/unavailable"}, lacks: []string{"10.1.2.3"}, want: map[string]string{"Retry-After": "5"}})
}

func TestStatusCountsAsAFreeQuery(t *testing.T) {
	a, h := newHookedApp(t, func(o *httpapi.Options) { o.QueriesPerToken = 1 })
	arrived, leave := make(chan struct{}), make(chan struct{})
	h.state = func() library.State {
		close(arrived)
		<-leave
		return library.State{Ready: true}
	}
	done := make(chan answer)
	go func() { done <- a.send(call{url: statusURL, token: "rw"}) }()
	<-arrived
	a.do(call{url: statusURL, token: "rw", status: 429})
	close(leave)
	if got := <-done; got.status != 200 {
		t.Errorf("status %d", got.status)
	}
}

func TestStatusWhoseObjectsCannotBeRead(t *testing.T) {
	a := newApp(t, func(o *httpapi.Options) {
		o.Rejected = func(context.Context, library.PropertyID) ([]library.Rejection, bool, error) {
			return nil, false, fmt.Errorf("read the cache: %w", library.ErrUnavailable)
		}
	})
	a.do(call{url: statusURL, token: "rw", status: 503, contains: []string{"problems/unavailable"}, lacks: []string{"cache"}})
}
