package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// approved is the scope of the tokens in these tests. Of the sample items, it contains those with ids 4k+1 and 4k+2.
const approved = "approval_status:app"

// newScopedApp makes an app with the tokens "published" (READ-ONLY) and "editor" (READ-WRITE) in the scope approved, and with a READ-WRITE
// token for each action, named after the action.
func newScopedApp(t *testing.T) *app {
	t.Helper()
	a := newApp(t)
	a.apply(
		tokenDefinition(shop, "published", library.Token{Query: approved}),
		tokenDefinition(shop, "editor", library.Token{ReadWrite: true, Query: approved}),
		tokenDefinition(shop, "nothing", library.Token{ReadWrite: true, Allow: []library.Action{}}),
	)
	for _, action := range library.Actions() {
		a.apply(tokenDefinition(shop, string(action), library.Token{ReadWrite: true, Allow: []library.Action{action}}))
	}
	a.known("published", "editor", "nothing", string(library.Erase))
	return a
}

// known waits until the server knows the tokens.
func (a *app) known(names ...string) {
	a.t.Helper()
	for _, name := range names {
		a.eventually("the token "+name+" is known", func() bool {
			_, ok, err := a.server.Access(context.Background(), token(name))
			return ok && err == nil
		})
	}
}

// TestScopeReads checks every endpoint that reads with tokens that have a scope.
func TestScopeReads(t *testing.T) {
	a := newScopedApp(t)
	a.write(shop, `{"id":2001,"approval_status":"rej","created_on":"2026-11-19T00:00:00Z","content":{"content_type":"text","text":"unreleased"},
		"tags":{"launch":["autumn"],"vibe":["unreleased"]}}`)
	a.do(call{url: "/v1/tags/launch/autumn", token: "ro", ids: []item.ID{2001}})
	for _, token := range []string{"published", "editor"} {
		a.table(t, map[string]call{
			token + ": approved items":            {url: q("*:*", "page_size=3"), token: token, ids: []item.ID{1058, 1057, 1054}, contains: []string{`"total_results":30`}},
			token + ": rejected items":            {url: q("approval_status:rej"), token: token, ids: []item.ID{}},
			token + ": no clause reaches out":     {url: q("(id:(1001,1003)) OR approval_status:rej", "page_size=1"), token: token, ids: []item.ID{1001}},
			token + ": one item":                  {url: "/v2/content/1001", token: token},
			token + ": a hidden item":             {url: "/v2/content/1003", token: token, status: 404, contains: []string{"no item of this property has the id 1003"}},
			token + ": a hidden item, deprecated": {url: "/v1/ugc/1003/", token: token, status: 404},
			token + ": tags of a hidden item":     {url: "/v1/tags/ugc/1003/", token: token, status: 404},
			token + ": items of a tag":            {url: "/v1/tags/marketer_tags/summer/", token: token, lacks: []string{`"approval_status":"rej"`, `"approval_status":"pen"`}},
			token + ": a tag of hidden items":     {url: "/v1/tags/launch/autumn/", token: token, status: 404},
			token + ": a tag of a manifest":       {url: "/v1/tags/kinds/unused/", token: token, ids: []item.ID{}},
			token + ": a collection":              {url: "/v1/ugc/collections/12/?order=date_asc&count=100", token: token, lacks: []string{`"approval_status":"rej"`}},
			token + ": a collection, hidden":      {url: "/v1/ugc/collections/12/?order=date_asc&approval_status=rej", token: token, ids: []item.ID{}},
			token + ": facets":                    {url: facets("approval_status", "q=*:*"), token: token, contains: []string{`"total":30`, `[{"value":"app","count":30}]`}},
			token + ": suggested values":          {url: suggestURL("approval_status:|"), token: token, contains: []string{`"text":"app"`, `"count":30`}, lacks: []string{`"count":15`}},
			token + ": suggested tags":            {url: suggestURL("unrel|"), token: token, lacks: []string{"unreleased"}},
			token + ": suggested namespaces":      {url: suggestURL("tags.lau|"), token: token, lacks: []string{"launch"}},
			token + ": a filter":                  {url: "/v2/content/filters/" + filterUUID("hero-first") + "?page_size=1", token: token, contains: []string{`"total_results":16`}},
			token + ": a filter with a query":     {url: "/v2/content/filters/" + filterUUID("hero-first") + "?additional_query=NOT+approval_status:app", token: token, ids: []item.ID{}},
			token + ": about a filter":            {url: "/v2/content/filters/" + filterUUID("hero-first") + "?info=1", token: token, contains: []string{`"total_results":16`}},
		})
	}
	a.table(t, map[string]call{
		"explain a hidden item":           {url: "/v2/content/items/explain?q=*:*&ugc_id=1003", token: "editor", status: 404},
		"explain":                         {url: "/v2/content/items/explain?q=*:*&ugc_id=1001", token: "editor", lacks: []string{"approval_status"}},
		"explain a filter":                {url: "/v2/content/filters/" + filterUUID("hero-first") + "/explain?ugc_id=1003", token: "editor", status: 404},
		"sources of a hidden item":        {url: "/v2/content/items/1003/sources", token: "editor", status: 404},
		"the history of a hidden item":    {url: "/v2/content/items/1003/history", token: "editor", status: 403},
		"a history":                       {url: "/v2/content/items/1001/history", token: "editor", status: 403, contains: []string{"a token with a query cannot read histories"}},
		"sources":                         {url: "/v2/content/items/1001/sources", token: "editor"},
		"a comparison":                    {url: "/v2/content/compare?q=*:*&from_q=campaign:12", token: "editor", contains: []string{`"total":30`, `"entering":{"total":14`}},
		"definitions":                     {url: "/v2/content/definitions?kind=tag", token: "editor", lacks: []string{"launch"}},
		"the status":                      {url: "/v2/content/status", token: "editor", contains: []string{`"items":30`, `"query":"approval_status:app"`}, lacks: []string{"store_bytes"}},
		"the status without a scope":      {url: "/v2/content/status", token: "rw", contains: []string{`"items":61`}},
		"an export":                       {url: "/v2/content/bulk", token: "editor", contains: []string{`"id":1001`}, lacks: []string{`"id":1003`, "unreleased"}},
		"an export of a query":            {url: "/v2/content/bulk?q=id:(1001,1003)", token: "editor", contains: []string{`"id":1001`}, lacks: []string{`"id":1003`, `"id":1002`}},
		"a broken query names no scope":   {url: q("approval_status:("), token: "published", status: 400, lacks: []string{"app)"}},
		"pages of two tokens with scopes": {url: q("*:*", "page_size=3"), token: "ro", contains: []string{`"total_results":61`}},
	})
}

// TestScopeOfProperty checks that readOnlyQuery is the scope of the READ-ONLY tokens without a query of their own, and that a change takes
// effect at once.
func TestScopeOfProperty(t *testing.T) {
	a := newScopedApp(t)
	a.apply(tokenDefinition(shop, "everything", library.Token{Query: "*:*"}))
	a.known("everything")
	spec := library.Property{PlatformPageID: 4711, ReadOnlyQuery: "approval_status:pen"}
	a.do(call{url: q("*:*"), bearer: "ro", contains: []string{`"total_results":60`}})
	tag := a.do(call{url: q("*:*"), bearer: "ro"}).header.Get("ETag")
	a.apply(property(shop, "default", spec))
	a.table(t, map[string]call{
		"its READ-ONLY tokens":  {url: q("*:*"), bearer: "ro", contains: []string{`"total_results":15`}},
		"an earlier ETag":       {url: q("*:*"), bearer: "ro", header: map[string]string{"If-None-Match": tag}, contains: []string{`"total_results":15`}},
		"tokens for filters":    {url: "/v2/content/filters/" + filterUUID("summer-wall"), bearer: "walled", ids: []item.ID{}},
		"a query of its own":    {url: q("*:*"), bearer: "published", contains: []string{`"total_results":30`}},
		"a query for all":       {url: q("*:*"), bearer: "everything", contains: []string{`"total_results":60`}},
		"READ-WRITE tokens":     {url: q("*:*"), bearer: "rw", contains: []string{`"total_results":60`}},
		"other properties":      {url: q("*:*"), bearer: "other-ro", contains: []string{`"total_results":1`}},
		"a READ-WRITE with one": {url: q("*:*"), bearer: "editor", contains: []string{`"total_results":30`}},
	})
	spec.ReadOnlyQuery = ""
	a.apply(property(shop, "default", spec))
	a.eventually("READ-ONLY tokens have no scope", func() bool {
		return a.send(call{url: q("*:*"), bearer: "ro"}).member(t, "total_results") == 60.0
	})
}

// TestScopeWrites checks that a token changes only items in its scope.
func TestScopeWrites(t *testing.T) {
	a := newScopedApp(t)
	patch := func(id int, body string, status int) call {
		return call{method: "PATCH", url: fmt.Sprintf("/v2/content/%d", id), token: "editor", body: body, status: status}
	}
	a.table(t, map[string]call{
		"patch a hidden item":        patch(1003, `{"featured":true}`, 404),
		"patch an unknown item":      patch(999, `{"featured":true}`, 404),
		"erase a hidden item":        {method: "DELETE", url: "/v2/content/1003", token: "editor", status: 404},
		"tag a hidden item":          {method: "POST", url: "/v1/tags/", token: "editor", body: `{"ugc_ids":[1001,1003,999,0],"namespace":"n","key":"k"}`, status: 422, contains: []string{`"unknown_ids":[1003,999,0]`}},
		"untag a hidden item":        {method: "DELETE", url: "/v1/tags/marketer_tags/summer/1011", token: "editor", status: 404},
		"import":                     {method: "POST", url: "/v2/content/bulk", token: "editor", body: `{"id":1003}`, status: 403, contains: []string{"cannot import"}},
		"patch with an ETag":         {method: "PATCH", url: "/v2/content/1003", token: "editor", body: `{"featured":true}`, header: map[string]string{"If-Match": `"x"`}, status: 404},
		"patch with a condition":     {method: "PATCH", url: "/v2/content/1001", token: "editor", body: `{"featured":true}`, header: map[string]string{"If-Match": `"x"`}, status: 412},
		"tag an item":                {method: "POST", url: "/v1/tags/", token: "editor", body: `{"ugc_ids":[1001,1002],"namespace":"n","key":"k"}`, status: 201},
		"add an item out of scope":   {method: "POST", url: "/v2/content", token: "editor", body: `{"content_type":"text","caption":"mine","content_ref":"r","author":{"username":"ann","author_ref":"a"}}`, status: 201, contains: []string{"mine"}},
		"a hidden item is untouched": {url: "/v2/content/1003", token: "rw", contains: []string{`"featured":false`}},
	})
	a.steps(
		patch(1001, `{"featured":true}`, 200),
		patch(1001, `{"approval_status":"rej"}`, 204), // the item leaves the scope
		patch(1001, `{"approval_status":"app"}`, 404),
		call{url: "/v2/content/1001", token: "rw", contains: []string{`"approval_status":"rej"`, `"featured":true`}},
	)
}

// TestActions checks each endpoint that changes something, or exports, with tokens that are limited to one action.
func TestActions(t *testing.T) {
	a := newScopedApp(t)
	requests := map[library.Action][]call{
		library.AddItems: {{method: "POST", url: "/v2/content", body: `{"content_type":"text","caption":"x","content_ref":"ACTION","author":{"username":"ann","author_ref":"a"}}`, status: 201}},
		library.Moderate: {{method: "PATCH", url: "/v2/content/1001", body: `{"approval_status":"pen","claimed":true,"campaign":3,"activate_units":[]}`}},
		library.TagItems: {
			{method: "POST", url: "/v1/tags", body: `{"ugc_ids":[1001],"namespace":"n","key":"k"}`, status: 201},
			{method: "DELETE", url: "/v1/tags/n/k/1001", status: 204},
		},
		library.ManageFilters: {
			{method: "POST", url: "/v2/content/filters", body: `{"name":"f","q":"beach","sort_by":"created_on:desc"}`, status: 201},
			{method: "PUT", url: "/v2/content/filters?filter_id=" + madeUUID, body: `{"q":"beach","sort_by":"created_on:desc"}`, status: 204},
			{method: "DELETE", url: "/v2/content/filters/" + madeUUID, status: 204},
		},
		library.ReadPrivate: {{url: q("submission.age:*")}, {url: facets("submission.age", "q=*:*")}, {url: q("*:*", "sort_by=submission.age:asc")}},
		library.Import:      {{method: "POST", url: "/v2/content/bulk", body: sampleLines()[0]}},
		library.Erase:       {{method: "DELETE", url: "/v2/content/1060", status: 204}},
	}
	for _, action := range library.Actions() {
		for i, c := range requests[action] {
			for _, other := range append(library.Actions(), "nothing") {
				if other == action {
					continue
				}
				refused := c
				refused.token, refused.status, refused.contains = string(other), 403, []string{string(action)}
				if action == library.ReadPrivate {
					refused.contains = []string{"private"}
				}
				a.table(t, map[string]call{fmt.Sprintf("%s %d with %s", action, i, other): refused})
			}
			c.token = string(action)
			a.table(t, map[string]call{fmt.Sprintf("%s %d", action, i): c})
		}
	}
	a.apply(manifestFilter("private-order", "approval_status:app", "submission.age:asc", false))
	a.apply(tokenDefinition(shop, "exporter", library.Token{ReadWrite: true, Allow: []library.Action{library.Export, library.ReadPrivate}}))
	a.known("exporter")
	a.table(t, map[string]call{
		"export":                       {url: "/v2/content/bulk", token: "exporter", contains: []string{"@mail.example"}},
		"export without ReadPrivate":   {url: "/v2/content/bulk", token: "Export", status: 403, contains: []string{"ReadPrivate"}},
		"export with ReadPrivate only": {url: "/v2/content/bulk", token: "ReadPrivate", status: 403, contains: []string{"Export"}},
		"no private members":           {url: q("claimed:true"), token: "nothing", lacks: []string{"mail.example", "submission"}},
		"no private items":             {url: "/v2/content/1007", token: "Moderate", lacks: []string{"mail.example", "submission"}},
		"patch a submission":           {method: "PATCH", url: "/v2/content/1002", token: "Moderate", body: `{"submission":{"age":"1"}}`, status: 403, contains: []string{"ReadPrivate"}},
		"stored queries":               {url: "/v2/content/filters?page_size=100", token: "Moderate", contains: []string{"tags.marketer_tags.key:summer"}, lacks: []string{"submission"}},
		"a private filter":             {url: "/v2/content/filters/" + filterUUID("secret-order") + "?page_size=1", token: "Moderate", lacks: []string{"mail.example"}},
		"explain a private filter":     {url: "/v2/content/filters/" + filterUUID("secret-order") + "/explain?ugc_id=1002", token: "Moderate", status: 403, contains: []string{"ReadPrivate"}, lacks: []string{"submission"}},
		"compare a private filter":     {url: "/v2/content/compare?q=*:*&from_filter=" + filterUUID("secret-order"), token: "Moderate", status: 403, contains: []string{"ReadPrivate"}, lacks: []string{"submission"}},
		"approve while adding":         {method: "POST", url: "/v2/content", token: "AddItems", body: `{"content_type":"text","caption":"x","approval_status":"app"}`, status: 403, contains: []string{"Moderate"}},
		"tag while adding":             {method: "POST", url: "/v2/content", token: "AddItems", body: `{"content_type":"text","caption":"x","tags":{"n":["k"]}}`, status: 403, contains: []string{"action Tag"}},
		"pending while adding":         {method: "POST", url: "/v2/content", token: "AddItems", body: `{"content_type":"text","caption":"x","approval_status":"pen"}`, status: 201},
		"its rights":                   {url: "/v2/content/rights", token: "Moderate", contains: []string{`"class":"READ-WRITE","actions":["Moderate"],"items":`, `"expires":null`}},
		"rights in a scope":            {url: "/v2/content/rights", token: "editor", contains: []string{`"query":"approval_status:app"`, "Erase"}, lacks: []string{"Import"}},
		"compare a private order":      {url: "/v2/content/compare?q=*:*&from_filter=" + filterUUID("private-order"), token: "Moderate", status: 403, contains: []string{"ReadPrivate"}, lacks: []string{"submission"}},
		"rights to read":               {url: "/v2/content/rights", token: "published", contains: []string{`"class":"READ-ONLY","actions":[]`}, lacks: []string{"query", "filters"}, want: map[string]string{"Cache-Control": "~no-store"}},
		"rights for filters":           {url: "/v2/content/rights", token: "walled", contains: []string{`"filters":["` + filterUUID("summer-wall") + `"]`}, lacks: []string{"items"}},
		"no rights":                    {url: "/v2/content/rights", status: 403},
		"the status":                   {url: "/v2/content/status", token: "nothing", contains: []string{`"allow":["Moderate"]`}},
		"sources":                      {url: "/v2/content/items/1002/sources", token: "nothing"},
		"definitions":                  {url: "/v2/content/definitions?kind=tag", token: "nothing"},
	})
}

// TestHiddenRejections checks that the messages of rejected objects, which can quote stored queries, are hidden without ReadPrivate.
func TestHiddenRejections(t *testing.T) {
	a := newApp(t, func(o *httpapi.Options) {
		o.Rejected = func(context.Context, library.PropertyID) ([]library.Rejection, bool, error) {
			return []library.Rejection{{Kind: "ContentFilter", Namespace: "shop", Name: "wall", Reason: "InvalidQuery", Message: "secret@mail.example"}}, true, nil
		}
	})
	a.apply(tokenDefinition(shop, "moderator", library.Token{ReadWrite: true, Allow: []library.Action{library.Moderate}}))
	a.known("moderator")
	a.do(call{url: "/v2/content/status", token: "rw", contains: []string{"secret@mail.example"}})
	a.do(call{url: "/v2/content/status", token: "moderator", contains: []string{"InvalidQuery", "ReadPrivate"}, lacks: []string{"secret@mail.example"}})
}

// TestGuests checks that a token of another namespace is accepted only with a grant, cannot leave readOnlyQuery, and learns no names of
// manifests in other namespaces.
func TestGuests(t *testing.T) {
	guest := func(name string, rights library.Token) library.Definition {
		rights.Guest = true
		d := tokenDefinition(shop, name, rights)
		d.Owner.Namespace = "fair"
		return d
	}
	a := newApp(t, withManifests, func(o *httpapi.Options) {
		o.Rejected = func(context.Context, library.PropertyID) ([]library.Rejection, bool, error) {
			return []library.Rejection{{Kind: "ContentFilter", Namespace: "shop", Name: "broken", Reason: "InvalidQuery", Message: "invalid"}}, true, nil
		}
	})
	grants := func(all ...library.Grant) {
		a.apply(property(shop, "default", library.Property{
			PlatformPageID: 4711, ReadOnlyQuery: approved, Grants: all, Source: &library.Source{Repository: "https://git.shop.example/shop/content"},
		}))
	}
	both := library.Grant{Namespaces: []string{"fair"}, Kinds: []string{"AccessToken"}, ReadOnly: true, ReadWrite: true}
	grants(both)
	a.apply(guest("curious", library.Token{Query: "*:*"}), guest("partner", library.Token{ReadWrite: true}))
	a.known("curious", "partner")
	a.do(call{method: "PATCH", url: "/v2/content/1003", token: "rw", body: `{"featured":true}`})
	hero := call{url: "/v1/tags/marketer_tags/hero/1003", method: "DELETE"}
	for token, sees := range map[string]bool{"partner": false, "rw": true} {
		text := []string{"Tag shop/", "ContentFilter shop/", `"namespace":"shop"`, `"name":"ro"`, "broken"}
		check := func(c call, contains ...string) {
			c.token = token
			if sees {
				c.contains = contains
			} else {
				c.lacks = append(text, contains...)
			}
			a.do(c)
		}
		check(call{url: "/v2/content/status"}, `"name":"ro"`, "broken", "git.shop.example")
		check(call{url: "/v2/content/filters"}, `"managed_by":"ContentFilter shop/summer-wall"`)
		check(call{url: "/v2/content/definitions?kind=tag"}, `"managed_by":"Tag shop/hero"`)
		manifest := call{url: manifestURL("summer-wall")}
		if !sees {
			manifest.status = 404
		}
		check(manifest, `"name":"summer-wall"`)
		check(call{url: "/v2/content/items/1003/sources"}, `"namespace":"shop"`)
		check(call{url: "/v2/content/items/1003/history"}, `"token":"shop/rw"`)
		refused := hero
		refused.status = 403
		check(refused, "managed by Tag shop/hero")
	}
	a.do(call{url: "/v2/content/status", token: "partner", contains: []string{`"namespace":"fair","name":"curious"`, `"name":"partner"`}})
	a.do(call{url: "/v2/content/1003", token: "curious", status: 404})
	a.do(call{url: "/v2/content/1003", token: "partner"})

	both.ReadWrite = false
	grants(both)
	a.eventually("the READ-WRITE token is refused", func() bool {
		_, ok, err := a.server.Access(context.Background(), token("partner"))
		return !ok && err == nil
	})
	a.do(call{url: "/v2/content/1001", token: "curious"})
	grants()
	a.eventually("all guests are refused", func() bool {
		_, ok, err := a.server.Access(context.Background(), token("curious"))
		return !ok && err == nil
	})
	a.do(call{url: "/v2/content/1001", token: "curious", status: 403})
}

// TestScopesInStatus checks that the status shows the scopes, and that it says which queries it hides without ReadPrivate.
func TestScopesInStatus(t *testing.T) {
	a := newScopedApp(t)
	a.do(call{url: statusURL, token: "rw", lacks: []string{"read_only_scope", "query_hidden"}})
	private := library.Property{PlatformPageID: 4711, ReadOnlyQuery: "submission.age:30"}
	a.apply(property(shop, "default", private), tokenDefinition(shop, "adults", library.Token{ReadWrite: true, Query: "submission.age:40"}))
	a.known("adults")
	named := func(name, class string) string {
		return `{"namespace":"shop","name":"` + name + `","class":"` + class + `","filters_only":false,`
	}
	a.table(t, map[string]call{
		"all": {url: statusURL, token: "rw", contains: []string{
			`"read_only_scope":{"query":"submission.age:30"}`, named("ro", "READ-ONLY") + `"query":"submission.age:30",`,
			named("adults", "READ-WRITE") + `"query":"submission.age:40",`, named("rw", "READ-WRITE") + `"expires"`,
		}, lacks: []string{"query_hidden"}},
		"without private fields": {url: statusURL, token: "Moderate", contains: []string{
			`"read_only_scope":{"query_hidden":true}`, named("ro", "READ-ONLY") + `"query_hidden":true,`,
			named("adults", "READ-WRITE") + `"query_hidden":true,`, named("rw", "READ-WRITE") + `"expires"`,
			named("published", "READ-ONLY") + `"query":"approval_status:app",`,
		}, lacks: []string{"submission"}},
	})
}

// TestRightsOfEveryEndpoint checks that every endpoint that changes something needs an action, so that a new endpoint cannot forget it.
func TestRightsOfEveryEndpoint(t *testing.T) {
	a := newScopedApp(t)
	changes := 0
	for path, item := range document(t).doc.Paths.Map() {
		url := strings.NewReplacer("{filter_uuid}", madeUUID, "{namespace}", "n", "{key}", "k", "{ugc_id}", "1001", "{id}", "1001").Replace(path)
		for method, o := range item.Operations() {
			if !slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, method) {
				continue
			}
			changes++
			action, _ := o.Extensions["x-vitrine-action"].(string)
			got := a.send(call{method: method, url: url, token: "nothing", body: "{}"})
			if got.status != http.StatusForbidden || action == "" || !strings.Contains(string(got.body), "action "+action+" ") {
				t.Errorf("%s %s (action %q) with a token that allows nothing: status %d, %s", method, url, action, got.status, got.body)
			}
		}
	}
	if changes < 9 {
		t.Errorf("openapi.json describes %d endpoints that change something", changes)
	}
}

// narrowedExport is a library whose exports contain many lines. It calls narrow after the first one.
type narrowedExport struct {
	library.Library
	narrow func()
}

// Export implements library.Library.
func (l *narrowedExport) Export(ctx context.Context, p library.PropertyID, n query.Node) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line, err := range l.Library.Export(ctx, p, n) {
			for i := range 1000 {
				if !yield(line, err) {
					return
				}
				if i == 0 {
					l.narrow()
				}
			}
			return
		}
	}
}

// TestNarrowedExport checks that an export ends when its token loses a right.
func TestNarrowedExport(t *testing.T) {
	for what, narrowed := range map[string]library.Token{
		"a query":   {ReadWrite: true, Query: approved},
		"an action": {ReadWrite: true, Allow: []library.Action{library.Export, library.ReadPrivate}},
	} {
		t.Run(what, func(t *testing.T) {
			l := &narrowedExport{}
			a := newAppOver(t, func(of library.Library) library.Library { l.Library = of; return l })
			l.narrow = func() {
				a.apply(tokenDefinition(shop, "rw", narrowed))
				a.eventually("the token is narrowed", func() bool {
					all := a.send(call{url: q("*:*"), token: "rw"}).member(t, "total_results") == 60.0
					return !all || a.send(call{method: "POST", url: "/v2/content/bulk", token: "rw"}).status == http.StatusForbidden
				})
			}
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("the export ends with %v, want an aborted connection", err)
				}
			}()
			a.send(call{url: "/v2/content/bulk", token: "rw"})
		})
	}
}

// TestSlowBody checks that a token that is narrowed while a caller sends a body changes nothing.
func TestSlowBody(t *testing.T) {
	a := newScopedApp(t)
	for what, c := range map[string]call{
		"PATCH": {method: "PATCH", url: "/v2/content/1001", body: `{"featured":false}`},
		"tag":   {method: "POST", url: "/v1/tags/", body: `{"ugc_ids":[1001],"namespace":"slow","key":"k"}`},
	} {
		t.Run(what, func(t *testing.T) {
			a.apply(tokenDefinition(shop, "slow", library.Token{ReadWrite: true}))
			wide := func() bool { return a.send(call{url: q("*:*"), token: "slow"}).member(t, "total_results") == 60.0 }
			a.known("slow")
			a.eventually("the token is wide", wide)
			c.token = "slow"
			r := c.request()
			r.Body = &slowBody{Reader: r.Body, before: func() {
				a.apply(tokenDefinition(shop, "slow", library.Token{ReadWrite: true, Query: approved}))
				a.eventually("the token is narrow", func() bool { return !wide() })
			}}
			if got := a.serve(r); got.status != http.StatusForbidden {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	a.do(call{url: "/v1/tags/slow/k/", token: "rw", status: 404})
}

// slowBody is a body. It calls before once, before the first byte is read.
type slowBody struct {
	io.Reader
	before func()
	once   sync.Once
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	b.once.Do(b.before)
	return b.Reader.Read(p)
}

// Close implements io.Closer.
func (b *slowBody) Close() error { return nil }

// TestScopeMoves moves a scope from the property to a token and back, and checks that no request reads more meanwhile.
func TestScopeMoves(t *testing.T) {
	a := newScopedApp(t)
	narrow := library.Property{PlatformPageID: 4711, ReadOnlyQuery: approved}
	a.apply(property(shop, "default", narrow), tokenDefinition(shop, "moved", library.Token{}))
	a.known("moved")
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				w := httptest.NewRecorder()
				a.server.ServeHTTP(w, call{url: q("*:*", "page_size=1"), bearer: "moved"}.request())
				if !strings.Contains(w.Body.String(), `"total_results":30`) {
					t.Errorf("%.200s", w.Body)
					return
				}
			}
		})
	}
	for range 20 {
		a.apply(property(shop, "default", library.Property{PlatformPageID: 4711}), tokenDefinition(shop, "moved", library.Token{Query: approved}))
		a.apply(property(shop, "default", narrow), tokenDefinition(shop, "moved", library.Token{}))
	}
	stop()
	readers.Wait()
	a.apply(property(shop, "default", library.Property{PlatformPageID: 4711}))
	a.eventually("the token is wide", func() bool {
		return a.send(call{url: q("*:*"), token: "moved"}).member(t, "total_results") == 60.0
	})
}

// tooLarge is a library in which every stored filter exceeds a limit of the query language when it is read.
type tooLarge struct{ library.Library }

var errTooLarge = &query.SyntaxError{Near: "secret@mail.example", Expected: "fewer fields"}

// Read implements library.Library.
func (l tooLarge) Read(ctx context.Context, r library.Read) (*library.Page, error) {
	if r.Filter != nil {
		return nil, errTooLarge
	}
	return l.Library.Read(ctx, r)
}

// Facets implements library.Library.
func (l tooLarge) Facets(ctx context.Context, r library.Read, f library.Facet) (*library.Facets, error) {
	if r.Filter != nil {
		return nil, errTooLarge
	}
	return l.Library.Facets(ctx, r, f)
}

// TestStoredQueryTooLarge checks that the error about a stored query does not quote it for callers who may not read private fields.
func TestStoredQueryTooLarge(t *testing.T) {
	a := newAppOver(t, func(l library.Library) library.Library { return tooLarge{l} })
	a.apply(tokenDefinition(shop, "moderator", library.Token{ReadWrite: true, Allow: []library.Action{library.Moderate}}))
	a.known("moderator")
	filter := "/v2/content/filters/" + filterUUID("summer-wall")
	counted := facets("author", "q=*:*", "filter="+filterUUID("summer-wall"))
	for name, c := range map[string]call{
		"items": {url: filter, token: "ro"}, "information": {url: filter + "?info=1", token: "ro"}, "values": {url: counted, token: "moderator"},
	} {
		c.status, c.lacks = 400, []string{"secret"}
		a.table(t, map[string]call{name: c})
	}
}
