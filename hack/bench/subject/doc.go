// Package subject runs what is measured side by side: Vitrine's own binary, a bare net/http server that sends the same
// bytes, OpenSearch, and Bleve. Each is a process of its own, so that its processor time and memory are its own.
//
// Peers get what Vitrine gives: the same bytes and headers, and answers to writes that come after an fsync.
//
// It may import child and load, and of Vitrine the domain, the sample content, the library that seeds its store, and the engine's segments.
package subject

import (
	"net/http"
	"net/url"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
)

// request joins a base address, a path and parameters.
func request(method, base, path string, params url.Values, body []byte) (load.Request, error) {
	address := base + path
	if len(params) > 0 {
		address += "?" + params.Encode()
	}
	r, err := load.Get(address)
	if err != nil {
		return r, err
	}
	r.Method, r.Body = method, body
	if body != nil {
		r.Header = http.Header{"Content-Type": {"application/json"}}
	}
	return r, nil
}
