package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// TestTokens calls every endpoint with every class of token.
func TestTokens(t *testing.T) {
	type need int
	const (
		readOnly need = iota
		readWrite
		none
	)
	endpoints := map[string]struct {
		call call
		need need
		// walled is the expected status for a token that is restricted to certain filters.
		walled int
	}{
		"create filter":  {call{method: "POST", url: "/v2/content/filters", body: `{"q":"a","sort_by":"id:asc","name":"x"}`, status: 201}, readWrite, 403},
		"list filters":   {call{url: "/v2/content/filters"}, readWrite, 403},
		"update filter":  {call{method: "PUT", url: "/v2/content/filters?filter_id=4242", body: `{"q":"a","sort_by":"id:asc"}`, status: 204}, readWrite, 403},
		"filter items":   {call{url: "/v2/content/filters/" + filterUUID("summer-wall")}, readOnly, 200},
		"filter info":    {call{url: "/v2/content/filters/" + filterUUID("summer-wall") + "?info=1"}, readOnly, 200},
		"other filter":   {call{url: "/v2/content/filters/" + filterUUID("hero-first")}, readOnly, 403},
		"closed filter":  {call{url: "/v2/content/filters/" + filterUUID("private")}, readWrite, 403},
		"delete filter":  {call{method: "DELETE", url: "/v2/content/filters/4242", status: 204}, readWrite, 403},
		"list items":     {call{url: q("id:1001")}, readOnly, 403},
		"add item":       {call{method: "POST", url: "/v2/content/", body: `{"content_type":"text","caption":"x"}`, status: 201}, readWrite, 403},
		"add tag":        {call{method: "POST", url: "/v1/tags/", body: `{"ugc_ids":[1001],"namespace":"n","key":"k"}`, status: 201}, readWrite, 403},
		"remove tag":     {call{method: "DELETE", url: "/v1/tags/marketer_tags/summer/1001", status: 204}, readWrite, 403},
		"tagged":         {call{url: "/v1/tags/marketer_tags/summer/"}, readOnly, 403},
		"item tags":      {call{url: "/v1/tags/ugc/1001/"}, readOnly, 403},
		"units":          {call{url: "/v1/activate_units/"}, readOnly, 403},
		"unit":           {call{url: fmt.Sprintf("/v1/activate_units/%d", unitID("sandals"))}, readOnly, 403},
		"item":           {call{url: "/v1/ugc/1001/"}, readOnly, 403},
		"collection":     {call{url: "/v1/ugc/collections/12/"}, readOnly, 403},
		"get item":       {call{url: "/v2/content/1001"}, readOnly, 403},
		"patch item":     {call{method: "PATCH", url: "/v2/content/1001", body: `{"featured":true}`}, readWrite, 403},
		"erase item":     {call{method: "DELETE", url: "/v2/content/1060", status: 204}, readWrite, 403},
		"import":         {call{method: "POST", url: "/v2/content/bulk", body: "\n"}, readWrite, 403},
		"export":         {call{url: "/v2/content/bulk?q=id:1001"}, readWrite, 403},
		"explain filter": {call{url: "/v2/content/filters/" + filterUUID("summer-wall") + "/explain?ugc_id=1001"}, readWrite, 403},
		"manifest":       {call{url: manifestURL("summer-wall")}, readWrite, 403},
		"explain query":  {call{url: "/v2/content/items/explain?q=beach&ugc_id=1001"}, readWrite, 403},
		"facets":         {call{url: "/v2/content/facets?field=tags&q=*:*"}, readOnly, 403},
		"changes":        {call{url: changesOf("q=*:*")}, readOnly, 403},
		"filter changes": {call{url: changesOf(following("summer-wall"))}, readOnly, 200},
		"filter facets":  {call{url: "/v2/content/facets?field=tags&filter=" + filterUUID("summer-wall")}, readWrite, 403},
		"sources":        {call{url: "/v2/content/items/1001/sources"}, readWrite, 403},
		"history":        {call{url: "/v2/content/items/1001/history"}, readWrite, 403},
		"status":         {call{url: "/v2/content/status"}, readWrite, 403},
		"definitions":    {call{url: "/v2/content/definitions?kind=tag"}, readWrite, 403},
		"suggest":        {call{url: "/v2/content/suggest?q=te"}, readOnly, 403},
		"refine":         {call{url: "/v2/content/refine?field=id&value=1"}, readOnly, 403},
		"compare":        {call{url: "/v2/content/compare?q=beach"}, readWrite, 403},
		"short link":     {call{url: "/i/code1001", status: 302}, none, 302},
		"openapi":        {call{url: "/openapi.json"}, none, 200},
	}
	reads := newApp(t, withManifests) // for all requests that change nothing
	for name, e := range endpoints {
		t.Run(name, func(t *testing.T) {
			a := reads
			if e.call.method != "" {
				a = newApp(t, withManifests)
			}
			a.t = t
			refused := func(c call, with string, status int) {
				t.Helper()
				if c.status = status; status == 403 {
					c.contains = []string{"problems/"}
				}
				if status >= 400 && status != 403 {
					c.contains = nil
				}
				if with == "ro" || with == "walled" {
					c.lacks = append(c.lacks, "submission")
				}
				if with != "" {
					c.token = with
				}
				a.do(c)
			}
			ok := e.call.status
			if ok == 0 {
				ok = 200
			}
			want := func(n need) int {
				if e.need <= n || e.need == none {
					return ok
				}
				return 403
			}
			if e.need == none {
				refused(e.call, "", ok)
				return
			}
			// The permitted request comes last, because the refused requests must change nothing before it.
			for _, with := range []string{"", "expired", "never-issued"} {
				refused(e.call, with, 403)
			}
			refused(e.call, "walled", e.walled)
			refused(e.call, "ro", want(readOnly))
			refused(e.call, "rw", ok)
		})
	}
	reads.t = t
}

func TestBothTokenForms(t *testing.T) {
	newApp(t).table(t, map[string]call{
		"different":            {url: q("id:1001"), token: "rw", bearer: "ro", status: 400, contains: []string{"problems/tokens-differ"}},
		"different, one valid": {url: q("id:1001"), token: "never-issued", bearer: "ro", status: 400},
		"two in the query":     {url: q("id:1001", "access_token="+token("rw")), token: "ro", status: 400, contains: []string{"problems/tokens-differ"}},
		"twice the same":       {url: q("id:1001", "access_token="+token("ro")), token: "ro", ids: []item.ID{1001}},
		"basic":                {url: q("id:1001"), header: map[string]string{"Authorization": "Basic dXNlcjpwYXNz"}, status: 403},
		"basic besides":        {url: q("id:1001"), token: "ro", header: map[string]string{"Authorization": "Basic dXNlcjpwYXNz"}, ids: []item.ID{1001}},
		"bearer in any case":   {url: q("id:1001"), header: map[string]string{"Authorization": "bEARER  " + token("ro")}, ids: []item.ID{1001}},
		"bearer of nothing":    {url: q("id:1001"), header: map[string]string{"Authorization": "Bearer "}, status: 403},
		"empty":                {url: q("id:1001", "access_token="), status: 403},
		"part of a token":      {url: q("id:1001", "access_token="+token("ro")[:39]), status: 403},
		"digest of a token":    {url: q("id:1001", "access_token="+fmt.Sprintf("%x", digest("ro"))), status: 403},
		"never 401":            {url: q("id:1001"), status: 403, want: map[string]string{"WWW-Authenticate": ""}},
	})
}

func TestTokenLife(t *testing.T) {
	a := newApp(t)
	ask := func(name string) int { return a.send(call{url: q("id:1001"), bearer: name}).status }
	steps := func(name string, want int) {
		t.Helper()
		if got := ask(name); got != want {
			t.Errorf("%s: status %d, want %d", name, got, want)
		}
	}
	// The old value of a rotated token works until exactly its expiry time. The new value works before and after that time.
	steps("expiring-old", 200)
	steps("expiring-new", 200)
	steps("expired", 403)
	a.clock.Advance(time.Hour - time.Nanosecond)
	steps("expiring-old", 200)
	a.clock.Advance(time.Nanosecond)
	steps("expiring-old", 403)
	steps("expiring-new", 200)

	// A new token works immediately, and a removed token stops working immediately.
	fresh := tokenDefinition(shop, "fresh", library.Token{})
	steps("fresh", 403)
	a.apply(fresh)
	a.eventually("the new token works", func() bool { return ask("fresh") == 200 })
	if _, err := a.lib.Remove(context.Background(), []library.Owner{fresh.Owner}); err != nil {
		t.Fatal(err)
	}
	a.eventually("the removed token is refused", func() bool { return ask("fresh") == 403 })

	// Two tokens have the same value. The value keeps working with the rights of the token that had it first.
	one, two := tokenDefinition(shop, "twin", library.Token{}), tokenDefinition(shop, "twin", library.Token{ReadWrite: true})
	two.Owner.Name = "twin-two"
	a.apply(one)
	a.eventually("the first twin works", func() bool { return ask("twin") == 200 })
	if results, err := a.lib.Apply(context.Background(), []library.Definition{two}); err != nil || results[0].Err == nil {
		t.Fatal("the second twin:", err, results)
	}
	if _, err := a.lib.Remove(context.Background(), []library.Owner{one.Owner}); err != nil {
		t.Fatal(err)
	}
	a.eventually("the second twin works once it has the value", func() bool { return ask("twin") == 200 })

	// Removing a property revokes its tokens.
	if _, err := a.lib.Remove(context.Background(), []library.Owner{owner(library.KindProperty, "other")}); err != nil {
		t.Fatal(err)
	}
	a.eventually("the property's tokens are refused", func() bool { return ask("other-ro") == 403 })
	steps("rw", 200)
}

func TestPropertyScope(t *testing.T) {
	a := newApp(t)
	a.table(t, map[string]call{
		"item":              {url: "/v1/ugc/7001/", token: "rw", status: 404, contains: []string{"problems/not-found"}},
		"item, version 2":   {url: "/v2/content/7001", token: "rw", status: 404, contains: []string{"problems/not-found"}},
		"own item":          {url: "/v1/ugc/7001/", token: "other-ro"},
		"query":             {url: q("id:7001"), token: "rw", ids: []item.ID{}},
		"all":               {url: q("*:*"), token: "other-rw", ids: []item.ID{7001}},
		"tags":              {url: "/v1/tags/ugc/7001/", token: "rw", status: 404},
		"tag":               {url: "/v1/tags/marketer_tags/summer/", token: "other-ro", status: 404},
		"patch":             {method: "PATCH", url: "/v2/content/7001", token: "rw", body: `{"featured":true}`, status: 404},
		"erase":             {method: "DELETE", url: "/v2/content/7001", token: "rw", status: 404},
		"add tag":           {method: "POST", url: "/v1/tags/", token: "rw", body: `{"ugc_ids":[7001],"namespace":"n","key":"k"}`, status: 422, contains: []string{`"unknown_ids":[7001]`}},
		"remove tag":        {method: "DELETE", url: "/v1/tags/marketer_tags/summer/1001", token: "other-rw", status: 404},
		"unit":              {url: fmt.Sprintf("/v1/activate_units/%d", unitID("sandals")), token: "other-ro", status: 404},
		"units":             {url: "/v1/activate_units/", token: "other-ro", contains: []string{`"total_results":0`, `"activate_unit:item":[]`}},
		"filters":           {url: "/v2/content/filters", token: "other-rw", contains: []string{`"total_results":0`, `"_embeded":[]`}},
		"filter":            {url: "/v2/content/filters/4242", token: "other-rw", status: 404},
		"delete filter":     {method: "DELETE", url: "/v2/content/filters/4242", token: "other-rw", status: 404},
		"update filter":     {method: "PUT", url: "/v2/content/filters?filter_id=4242", token: "other-rw", body: `{"q":"a","sort_by":"id:asc"}`, status: 404},
		"explain":           {url: "/v2/content/items/explain?q=beach&ugc_id=7001", token: "rw", status: 404},
		"explain filter":    {url: "/v2/content/filters/4242/explain?ugc_id=7001", token: "other-rw", status: 404},
		"compare":           {url: "/v2/content/compare?from_filter=4242&q=beach", token: "other-rw", status: 404},
		"compare queries":   {url: "/v2/content/compare?q=*:*", token: "other-rw", contains: []string{`"entering":{"total":1,`, `{"id":7001,`}, lacks: []string{`{"id":1001,`}},
		"collection":        {url: "/v1/ugc/collections/12/", token: "other-ro", ids: []item.ID{}},
		"export":            {url: "/v2/content/bulk", token: "other-rw", contains: []string{`{"id":7001,`}, lacks: []string{`"id":1001`}},
		"import over other": {method: "POST", url: "/v2/content/bulk", token: "other-rw", body: `{"id":1001,"content":{"content_type":"text","text":"mine"}}`, contains: []string{`"status":201`}},
	})
	a.do(call{url: "/v1/ugc/1001/", token: "rw", contains: []string{"number 0"}, lacks: []string{"mine"}})
}

// TestPrivateFields checks that a READ-ONLY caller can neither see submissions nor use them in queries.
func TestPrivateFields(t *testing.T) {
	wall := "/v2/content/filters/" + filterUUID("summer-wall")
	forbidden := func(url string) call {
		return call{url: url, token: "ro", status: 403, contains: []string{"problems/field-private"}, lacks: []string{"mail.example"}}
	}
	calls := map[string]call{
		"term":                     forbidden(q("submission.email:person0@mail.example")),
		"hidden in a group":        forbidden(q("id:1001 OR (beach AND -submission.username:person0)")),
		"exists":                   forbidden(q("_exists_:submission.email")),
		"exists, the whole":        forbidden(q("_exists_:submission")),
		"missing":                  forbidden(q("_missing_:submission.email")),
		"range":                    forbidden(q("submission.age:[20 TO 30]")),
		"wildcard value":           forbidden(q("submission.email:*mail*")),
		"regular expression":       forbidden(q("submission.email:/.*mail.*/")),
		"escaped name":             forbidden(q(`submissio\n.email:a`)),
		"pattern below it":         forbidden(q(`submission.\*:*mail*`)),
		"pattern of its beginning": forbidden(q(`_exists_:submission\*`)),
		"sort":                     forbidden(q("*:*", "sort_by=submission.age:asc")),
		"second sort key":          forbidden(q("*:*", "sort_by=id:asc,submission.age:desc")),
		"sort, broken":             forbidden(q("*:*", "sort_by=submission.age")),
		"sort, the whole":          forbidden(q("*:*", "sort_by=submission:asc")),
		"times":                    forbidden(q("last_modified:[now-1d TO now]")),
		"pattern of times":         forbidden(q(`last_modified\*:[now-1d TO now]`)),
		"sort by times":            forbidden(q("*:*", "sort_by=last_modified:desc")),
		"additional times":         forbidden(wall + "?additional_query=_exists_:last_modified"),
		"count times":              forbidden(facets("last_modified", "q=*:*")),
		"additional":               forbidden(wall + "?additional_query=submission.username:person0"),
		"filter sort":              forbidden(wall + "?sort_by=submission.age:asc"),

		"pattern over all fields":             {url: q(`\*name:person0`), token: "ro", ids: []item.ID{}},
		"pattern over all fields, read-write": {url: q(`\*name:person0`), token: "rw", ids: []item.ID{1001}},
		"pattern that covers it":              {url: q(`s\*:person6`), token: "ro", ids: []item.ID{}},
		"pattern, additional":                 {url: wall + `?additional_query=\*name:person0`, token: "ro", ids: []item.ID{}},
		"pattern over dates":                  {url: q(`last\*:[2026 TO *]`), token: "ro", ids: []item.ID{}},
		"pattern over dates, read-write":      {url: q(`last\*:[2026 TO *] AND id:1001`), token: "rw", ids: []item.ID{1001}},
		"read-write times":                    {url: q("last_modified:[now-1d TO now]", "sort_by=last_modified:desc,id:asc", "page_size=2"), token: "rw", ids: []item.ID{1001, 1002}},
		"full text":                           {url: q("person0"), token: "ro", ids: []item.ID{}},
		"read-write term":                     {url: q("submission.username:person6"), token: "rw", ids: []item.ID{1007}, contains: []string{`"email":"person6@mail.example"`}},
		"read-write sort":                     {url: q("_exists_:submission.age", "sort_by=submission.age:desc", "page_size=2"), token: "rw", ids: []item.ID{1055, 1049}},
		"read-write sees null":                {url: q("id:1002"), token: "rw", contains: []string{`"submission":null`}},
	}
	const ownTime = `"},"last_modified":"` // after the submission; units have such a member too
	for path, ids := range map[string][]item.ID{
		q("id:1001"): {1001}, "/v1/tags/ugc/1001/": {1001}, "/v1/ugc/collections/12/?page_size=100&order=date_asc": nil,
		wall: nil, "/v1/tags/marketer_tags/summer/": nil,
	} {
		calls["absent in "+path] = call{url: path, token: "ro", ids: ids, lacks: []string{"submission", "mail.example", ownTime}}
		calls["present in "+path] = call{url: path, token: "rw", ids: ids, contains: []string{`"submission":{`, "person0@mail.example", ownTime}}
	}
	calls["absent in an item"] = call{url: "/v2/content/1001", token: "ro", lacks: []string{"submission", "mail.example", ownTime}}
	calls["present in an item"] = call{url: "/v2/content/1001", token: "rw", contains: []string{"person0@mail.example", ownTime}}
	calls["absent in a single item"] = call{url: "/v1/ugc/1001/", token: "ro", lacks: []string{"submission", "mail.example", ownTime}}
	calls["present in a single item"] = call{url: "/v1/ugc/1001/", token: "rw", contains: []string{"person0@mail.example", ownTime}}
	newApp(t).table(t, calls)
}

func TestRestrictedToken(t *testing.T) {
	newApp(t).table(t, map[string]call{
		"its filter":          {url: "/v2/content/filters/" + filterUUID("summer-wall"), token: "walled"},
		"its filter by id":    {url: fmt.Sprintf("/v2/content/filters/%d", filterID("summer-wall")), token: "walled"},
		"its closed filter":   {url: "/v2/content/filters/" + filterUUID("private"), token: "walled", status: 403},
		"its missing filter":  {url: "/v2/content/filters/" + filterUUID("gone"), token: "walled", status: 403},
		"another open filter": {url: "/v2/content/filters/" + filterUUID("hero-first"), token: "walled", status: 403},
		"unknown filter":      {url: "/v2/content/filters/17", token: "walled", status: 403},
		"additional query":    {url: "/v2/content/filters/" + filterUUID("summer-wall") + "?additional_query=id:1001", token: "walled", ids: []item.ID{1001}},
		"units":               {url: "/v1/activate_units/", token: "walled", status: 403, contains: []string{"problems/class-refused"}},
	})
}

// TestLog checks that the log describes requests and contains no secrets. In every test, newApp searches the log for tokens and e-mail
// addresses.
func TestLog(t *testing.T) {
	a := newApp(t)
	a.do(call{url: q("submission.email:person0@mail.example", "page=1"), token: "rw", header: map[string]string{"X-Request-Id": "my-request.1"},
		want: map[string]string{"X-Request-Id": "my-request.1"}})
	a.do(call{url: "/nowhere/" + token("rw"), token: "rw", status: 404})
	a.do(call{url: q("id:1001"), bearer: "ro", header: map[string]string{"X-Request-Id": token("ro")}})
	a.do(call{url: q("id:1001"), bearer: "ro", header: map[string]string{"X-Request-Id": "two words\n"}})
	for _, part := range []string{"request=my-request.1", "route=/v2/content/items", "status=200", "property=shop/default", `token="AccessToken shop/rw"`, "page=1", "q=…", `property="" token="" request=`} {
		if !strings.Contains(a.log.String(), part) {
			t.Errorf("the log lacks %s:\n%s", part, a.log)
		}
	}
	// Tokens in the wrong places are not authenticated, but the log must not show them either.
	a.do(call{url: "/nowhere/" + token("rw"), status: 404})
	a.do(call{url: "/nowhere/ann%40mail.example", status: 404})
	a.do(call{url: "/nowhere?" + token("rw") + "=1&person0@mail.example=2&page=" + token("ro"), status: 404})
	// An error that quotes the request must contain neither the token nor a part of it.
	a.do(call{url: q("id:1001", "sort_by="+token("ro")), token: "ro", status: 400, contains: []string{"[token]"}})
	a.do(call{url: q("id:" + token("ro")), token: "ro", status: 400, contains: []string{`"near":"[token]"`}})
}
