// Package subject runs the programs that the benchmarks compare (subjects): Vitrine's binary with each of its libraries, a bare net/http
// server that sends the same bytes, and OpenSearch. Each subject is a separate process, so that its processor time and memory can
// be measured.
//
// The other subjects must do the same work as Vitrine. For example, the bare server sends the same bytes and headers, and all subjects
// acknowledge a write after an fsync.
//
// The package may import anchor, child, load, loopback and opensearch/node, and Vitrine's domain, sample content, engine segments, and the
// libraries that seed its stores.
package subject

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
)

// request returns a request to a path below base. If params is not nil, params replaces the query of the path.
func request(method string, base *url.URL, path string, params url.Values, body []byte) load.Request {
	u := *base
	path, u.RawQuery, _ = strings.Cut(path, "?")
	u.Path += path
	if len(params) > 0 {
		u.RawQuery = params.Encode()
	}
	r := load.Request{Method: method, URL: &u, Body: body, Header: http.Header{}}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// get returns a GET request for a path on a host.
func get(host, path string) load.Request {
	return request(http.MethodGet, &url.URL{Scheme: "http", Host: host}, path, nil, nil)
}
