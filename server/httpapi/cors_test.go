package httpapi_test

import "testing"

func TestOrigins(t *testing.T) {
	from := func(origin string) map[string]string { return map[string]string{"Origin": origin} }
	allowed := func(origin string) call {
		return call{url: q("id:1001"), token: "ro", header: from(origin), want: map[string]string{
			"Access-Control-Allow-Origin": origin, "Vary": "~Origin",
			"Access-Control-Expose-Headers": "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, Warning, X-Request-Id",
		}}
	}
	refused := func(origin string) call {
		return call{url: q("id:1001"), token: "ro", header: from(origin), status: 403, contains: []string{"problems/origin-refused"},
			want: map[string]string{"Access-Control-Allow-Origin": "", "Vary": "~Origin"}}
	}
	newApp(t).table(t, map[string]call{
		"no origin":                         {url: q("id:1001"), token: "ro", want: map[string]string{"Access-Control-Allow-Origin": "", "Vary": "Accept-Encoding, Origin, Authorization"}},
		"listed":                            allowed("https://www.shop.example"),
		"its own port":                      allowed("https://www.shop.example:443"),
		"with port":                         allowed("http://localhost:3000"),
		"one label":                         allowed("https://a.wild.example"),
		"other scheme":                      refused("http://www.shop.example"),
		"other port":                        refused("https://www.shop.example:8443"),
		"other port of a wild":              refused("https://a.wild.example:8443"),
		"no label":                          refused("https://wild.example"),
		"two labels":                        refused("https://a.b.wild.example"),
		"empty label":                       refused("https://.wild.example"),
		"suffix only":                       refused("https://awild.example"),
		"listed as a prefix":                refused("https://www.shop.example.evil.example"),
		"listed as a user":                  refused("https://www.shop.example@evil.example"),
		"null":                              refused("null"),
		"no url":                            refused("%%%"),
		"subdomain":                         refused("https://a.www.shop.example"),
		"wild as it is written":             allowed("https://*.wild.example"),
		"read-write":                        {url: q("id:1001"), token: "rw", header: from("https://www.shop.example"), want: map[string]string{"Access-Control-Allow-Origin": "https://www.shop.example"}},
		"property without a list":           {url: q("id:7001"), token: "other-ro", header: from("https://www.shop.example"), status: 403},
		"errors can be read":                {url: q("(broken"), token: "ro", header: from("https://www.shop.example"), status: 400, want: map[string]string{"Access-Control-Allow-Origin": "https://www.shop.example"}},
		"refusals of the class can be read": {url: "/v2/content/filters", token: "ro", header: from("https://www.shop.example"), status: 403, want: map[string]string{"Access-Control-Allow-Origin": "https://www.shop.example"}},
		"maintenance can be read":           {url: q("a"), token: "closed-ro", header: from("https://closed.example"), status: 503, want: map[string]string{"Access-Control-Allow-Origin": "https://closed.example"}},
		"bad token first":                   {url: q("a"), token: "never-issued", header: from("https://www.shop.example"), status: 403, contains: []string{"problems/token-refused"}, want: map[string]string{"Access-Control-Allow-Origin": ""}},
		"openapi for any page":              {url: "/openapi.json", header: from("https://anywhere.example"), want: map[string]string{"Access-Control-Allow-Origin": "*"}},
		"openapi errors for any page":       {url: "/openapi.json?%zz", header: from("https://anywhere.example"), status: 400, want: map[string]string{"Access-Control-Allow-Origin": "*"}},
		"write from a page":                 {method: "POST", url: "/v1/tags/", token: "rw", header: from("https://evil.example"), body: `{"ugc_ids":[1001],"namespace":"n","key":"k"}`, status: 403},
	})
}

func TestPreflight(t *testing.T) {
	preflight := func(origin, method string) map[string]string {
		return map[string]string{"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": "authorization"}
	}
	answered := func(origin, methods string) map[string]string {
		return map[string]string{
			"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Methods": methods, "Access-Control-Max-Age": "600",
			"Access-Control-Allow-Headers": "Authorization, Content-Type, If-Match, If-None-Match, If-Unmodified-Since, Last-Event-ID", "Vary": "~Origin",
		}
	}
	newApp(t).table(t, map[string]call{
		"with token":              {method: "OPTIONS", url: "/v2/content/items", token: "ro", header: preflight("https://www.shop.example", "GET"), status: 204, want: answered("https://www.shop.example", "GET, HEAD, OPTIONS")},
		"methods of the path":     {method: "OPTIONS", url: "/v2/content/filters", token: "rw", header: preflight("https://www.shop.example", "PUT"), status: 204, want: answered("https://www.shop.example", "GET, HEAD, OPTIONS, POST, PUT")},
		"with slash":              {method: "OPTIONS", url: "/v1/tags/", token: "rw", header: preflight("https://a.wild.example", "POST"), status: 204, want: answered("https://a.wild.example", "OPTIONS, POST")},
		"other property's origin": {method: "OPTIONS", url: "/v2/content/items", token: "ro", header: preflight("https://limited.example", "GET"), status: 403, contains: []string{"problems/origin-refused"}},
		"no token, some property": {method: "OPTIONS", url: "/v2/content/items", header: preflight("https://limited.example", "GET"), status: 204, want: answered("https://limited.example", "GET, HEAD, OPTIONS")},
		"no token, no property":   {method: "OPTIONS", url: "/v2/content/items", header: preflight("https://evil.example", "GET"), status: 403},
		"bad token":               {method: "OPTIONS", url: "/v2/content/items", token: "never-issued", header: preflight("https://www.shop.example", "GET"), status: 403},
		"two tokens":              {method: "OPTIONS", url: "/v2/content/items?access_token=" + token("rw"), token: "ro", header: preflight("https://www.shop.example", "GET"), status: 400},
		"under maintenance":       {method: "OPTIONS", url: "/v2/content/items", token: "closed-ro", header: preflight("https://closed.example", "GET"), status: 204, want: answered("https://closed.example", "GET, HEAD, OPTIONS")},
		"unknown path":            {method: "OPTIONS", url: "/v2/nothing", token: "ro", header: preflight("https://www.shop.example", "GET"), status: 404},
		"openapi, no property":    {method: "OPTIONS", url: "/openapi.json", header: preflight("https://anywhere.example", "GET"), status: 204, want: answered("*", "GET, HEAD, OPTIONS")},
		"openapi, bad token":      {method: "OPTIONS", url: "/openapi.json", token: "never-issued", header: preflight("https://anywhere.example", "GET"), status: 204, want: answered("*", "GET, HEAD, OPTIONS")},
		"short link":              {method: "OPTIONS", url: "/i/code1001", header: preflight("https://anywhere.example", "GET"), status: 403},
		"no preflight":            {method: "OPTIONS", url: "/v2/content/filters", status: 204, want: map[string]string{"Allow": "GET, HEAD, OPTIONS, POST, PUT", "Access-Control-Allow-Origin": ""}},
		"origin alone":            {method: "OPTIONS", url: "/v2/content/filters", header: map[string]string{"Origin": "https://evil.example"}, status: 204, want: map[string]string{"Allow": "GET, HEAD, OPTIONS, POST, PUT", "Access-Control-Allow-Origin": ""}},
	})
}

// TestPreflightDoesNotCountTowardsRateLimit checks that ten preflights with a token do not reduce the number of requests that the token has
// left.
func TestPreflightDoesNotCountTowardsRateLimit(t *testing.T) {
	a := newApp(t)
	for range 10 {
		a.do(call{method: "OPTIONS", url: "/v2/content/items", token: "limited-ro", status: 204,
			header: map[string]string{"Origin": "https://limited.example", "Access-Control-Request-Method": "GET"}})
	}
	a.do(call{url: q("id:8001"), token: "limited-ro", want: map[string]string{"RateLimit": `"token";r=2;t=1`}})
}

func TestRoutes(t *testing.T) {
	newApp(t).table(t, map[string]call{
		"unknown path":              {url: "/v3/content/items", token: "rw", status: 404, contains: []string{"problems/not-found", "/openapi.json"}},
		"unknown without token":     {url: "/nowhere", status: 404},
		"root":                      {url: "/", status: 404},
		"v2":                        {url: "/v2", status: 404},
		"content accepts only POST": {url: "/v2/content/", token: "rw", status: 405, want: map[string]string{"Allow": "OPTIONS, POST"}},
		"tags accept only POST":     {url: "/v1/tags", token: "rw", status: 405, want: map[string]string{"Allow": "OPTIONS, POST"}},
		"two slashes":               {url: "/v2//content/items?q=a", token: "ro", status: 404},
		"two slashes at the end":    {url: "/v2/content/items//?q=a", token: "ro", status: 404},
		"dots":                      {url: "/v2/content/../content/items?q=a", token: "ro", status: 404},
		"one dot":                   {url: "/v2/./content/items?q=a", token: "ro", status: 404},
		"capitals":                  {url: "/V2/content/items?q=a", token: "ro", status: 404},
		"put on an item":            {method: "PUT", url: "/v2/content/1001", token: "rw", status: 405, want: map[string]string{"Allow": "DELETE, GET, HEAD, OPTIONS, PATCH"}},
		"trace":                     {method: "TRACE", url: "/v2/content/items", token: "rw", status: 405},
		"any word":                  {method: "BREW", url: "/v1/activate_units/", token: "rw", status: 405},
		"405 before the token":      {method: "DELETE", url: "/v2/content/items", status: 405},
		"head of a list":            {method: "HEAD", url: "/v1/activate_units", token: "ro"},
		"head of nothing":           {method: "HEAD", url: "/v1/ugc/17/", token: "ro", status: 404},
		"server":                    {url: "/openapi.json", want: map[string]string{"Server": "vitrine/0.1.0-test", "X-Content-Type-Options": "nosniff"}},
	})
}

// TestStartingServer checks that the server does not refuse any token as invalid before it has loaded all tokens.
func TestStartingServer(t *testing.T) {
	a := newApp(t)
	starting := a.notRunning()
	starting.do(call{url: q("id:1001"), token: "ro", status: 503, contains: []string{"problems/unavailable"}, want: map[string]string{"Retry-After": "1"}})
	starting.do(call{url: "/openapi.json"})
	if starting.server.Ready() {
		t.Error("ready without knowing a token")
	}
}
