package reference

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

const shop library.PropertyID = "shop/default"

func shopProperty() library.Definition {
	return library.Definition{
		Property:     shop,
		Owner:        library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 1},
	}
}

// mustOpen opens a library that has the property shop, and closes it at the end of the test.
func mustOpen(t testing.TB, o Options) *Library {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	results, err := l.Apply(t.Context(), []library.Definition{shopProperty()})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	return l
}

func post(text string) library.Mutation {
	return library.Mutation{Put: &item.Item{
		ApprovalStatus: item.Approved, CreatedOn: "2026-11-20T08:00:00Z",
		Content: item.Content{ContentType: item.Image, Text: text},
	}}
}

func write(t testing.TB, l *Library, muts ...library.Mutation) []library.Outcome {
	t.Helper()
	outcomes, err := l.Write(t.Context(), shop, muts)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	return outcomes
}

func total(t testing.TB, l *Library, n query.Node) int64 {
	t.Helper()
	page, err := l.Read(t.Context(), library.Read{Property: shop, Audience: query.Private, Query: n})
	if err != nil {
		t.Fatal(err)
	}
	return page.Total
}

// TestBoundary checks Page.Expires to the millisecond, and that the page does not change before that time.
func TestBoundary(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	l := mustOpen(t, Options{Dir: t.TempDir(), Clock: func() time.Time { return now }})
	for _, created := range []string{"2026-11-21T11:30:00Z", "2026-11-20T12:00:00Z", "2026-11-21T15:00:00Z", "2026-10-31T00:00:00Z"} {
		write(t, l, library.Mutation{Put: &item.Item{CreatedOn: created, Content: item.Content{ContentType: item.Image}}})
	}
	for q, want := range map[string]time.Time{
		"beach":                                   {},
		"created_on:[2026 TO *]":                  {},
		"created_on:[now-1h TO *]":                at("2026-11-21T12:30:00.001Z"),
		"created_on:{now-1h TO *]":                at("2026-11-21T12:30:00Z"),
		"created_on:[now-1d TO *]":                at("2026-11-21T12:00:00.001Z"),
		"created_on:[* TO now]":                   at("2026-11-21T15:00:00Z"),
		"created_on:[* TO now}":                   at("2026-11-21T15:00:00.001Z"),
		"created_on:[now/d TO *]":                 at("2026-11-22T00:00:00Z"),
		"created_on:[now-1M/M TO now/M]":          at("2026-12-01T00:00:00Z"),
		"created_on:[now-1h TO now]":              at("2026-11-21T12:30:00.001Z"),
		"created_on:[now+1h TO now+2h]":           at("2026-11-21T13:00:00Z"),
		"created_on:[now-1y TO *] AND beach":      at("2027-10-31T00:00:00.001Z"),
		"NOT created_on:[now-1h TO *]":            at("2026-11-21T12:30:00.001Z"),
		"created_on:[now+1y TO *]":                {},
		"campaign:3 OR created_on:>now":           at("2026-11-21T15:00:00Z"),
		"created_on:[now TO 2026-11-21T13:00:00]": at("2026-11-21T13:00:01Z"),
	} {
		t.Run(q, func(t *testing.T) {
			parsed, err := query.Parse(q)
			if err != nil {
				t.Fatal(err)
			}
			ids := func(at time.Time) string {
				page, err := l.Read(t.Context(), library.Read{Property: shop, Query: parsed.Root, Limit: 10, Now: at})
				if err != nil {
					t.Fatal(err)
				}
				return string(page.Items)
			}
			page, err := l.Read(t.Context(), library.Read{Property: shop, Query: parsed.Root, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			if !page.Expires.Equal(want) {
				t.Errorf("expires at %v, want %v", page.Expires.UTC(), want)
			}
			if page.Expires.IsZero() {
				return
			}
			if ids(now) != ids(page.Expires.Add(-time.Millisecond)) {
				t.Error("the answer changed before it expired")
			}
		})
	}
}

// TestARuleThatOutgrowsTheLimits applies selectors with field patterns, and then adds more and more fields that the patterns match. A
// selector with one pattern must keep its items.
func TestARuleThatOutgrowsTheLimits(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir()})
	var rules []library.Definition
	many := strings.Repeat(`submission.\*:yes `, 20)
	for key, selector := range map[string]string{
		"single": `submission.\*:yes`, "plain": many, "moving": `(` + many + `) AND created_on:[* TO now]`,
	} {
		rules = append(rules, library.Definition{
			Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindTag, Namespace: "shop", Name: key},
			Tag: &library.TagRule{Tag: item.Tag{Namespace: "marketer_tags", Key: key}, Items: []item.ID{1}, Selector: selector},
		})
	}
	results, err := l.Apply(t.Context(), rules)
	if err != nil || results[0].Err != nil || results[1].Err != nil {
		t.Fatal(err, results)
	}
	submit := func(from int) {
		t.Helper()
		members := map[string]string{}
		for i := range 100 {
			members[fmt.Sprintf("k%d", from+i)] = "yes"
		}
		submission, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		m := post("beach")
		m.Put.Submission = submission
		write(t, l, m)
	}
	tagged := func(key string) int64 { return total(t, l, query.FieldTerm("tags.marketer_tags.key", key)) }
	submit(0)
	submit(100)
	if tagged("plain") != 2 || tagged("moving") != 2 {
		t.Fatalf("%d and %d items are tagged, want both", tagged("plain"), tagged("moving"))
	}
	for from := 200; from < 1200; from += 100 {
		submit(from)
	}
	if n := total(t, l, query.All{}); n != 12 {
		t.Errorf("%d items, want 12", n)
	}
	for _, key := range []string{"plain", "moving"} {
		if tagged(key) != 1 {
			t.Errorf("%d items are tagged by the rule %s, which is past the limit; want the one named by id", tagged(key), key)
		}
	}
	if tagged("single") != 12 {
		t.Errorf("%d items are tagged by a rule with one pattern, want 12", tagged("single"))
	}
}
