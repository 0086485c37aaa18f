package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// access says which tokens an endpoint accepts.
type access uint8

const (
	// anyone means that the endpoint needs no token.
	anyone access = iota
	// anyPage means that the endpoint needs no token either, and that web pages of every origin may read the response.
	anyPage
	// reader means any token that is not restricted to certain filters.
	reader
	// writer means a READ-WRITE token.
	writer
	// anyToken means any token. If the token is restricted to certain filters, the handler limits the response to them.
	anyToken
)

func (a access) needsToken() bool { return a != anyone && a != anyPage }

// noAction is the action of an endpoint that needs none.
const noAction library.Action = ""

// route is one endpoint.
type route struct {
	method string
	// path is a pattern for http.ServeMux without a trailing slash. The path of a request may have a trailing slash.
	path   string
	access access
	// action is what the token must allow, or noAction.
	action library.Action
	handle func(*Server, *exchange) error
}

// routes lists all endpoints: first the endpoints of the specification, in the order of the specification, then the extensions.
func routes() []route {
	return []route{
		{"POST", "/v2/content/filters", writer, library.ManageFilters, untagged((*Server).createFilter)},
		{"GET", "/v2/content/filters", writer, noAction, (*Server).listFilters},
		{"PUT", "/v2/content/filters", writer, library.ManageFilters, (*Server).updateFilter},
		{"GET", "/v2/content/filters/{filter_uuid}", anyToken, noAction, (*Server).listFilterItems},
		{"DELETE", "/v2/content/filters/{filter_uuid}", writer, library.ManageFilters, (*Server).deleteFilter},
		{"GET", "/v2/content/items", reader, noAction, (*Server).listItems},
		{"POST", "/v2/content", writer, library.AddItems, untagged((*Server).addItem)},
		{"POST", "/v1/tags", writer, library.TagItems, untagged((*Server).addTag)},
		{"DELETE", "/v1/tags/{namespace}/{key}/{ugc_id}", writer, library.TagItems, untagged((*Server).removeTag)},
		{"GET", "/v1/tags/{namespace}/{key}", reader, noAction, (*Server).listTagged},
		{"GET", "/v1/tags/ugc/{ugc_id}", reader, noAction, (*Server).listItemTags},
		{"GET", "/v1/activate_units", reader, noAction, (*Server).listUnits},
		{"GET", "/v1/activate_units/{id}", reader, noAction, (*Server).showUnit},
		{"GET", "/v1/ugc/{ugc_id}", reader, noAction, (*Server).showItem},
		{"GET", "/v1/ugc/collections/{collection_id}", reader, noAction, (*Server).listCollection},

		{"GET", "/v2/content/{id}", reader, noAction, (*Server).getItem},
		{"PATCH", "/v2/content/{id}", writer, library.Moderate, (*Server).patchItem},
		{"DELETE", "/v2/content/{id}", writer, library.Erase, (*Server).eraseItem},
		{"POST", "/v2/content/bulk", writer, library.Import, untagged((*Server).importItems)},
		{"GET", "/v2/content/bulk", writer, library.Export, (*Server).exportItems},
		{"GET", "/v2/content/filters/{filter_uuid}/explain", writer, noAction, (*Server).explainFilter},
		{"GET", "/v2/content/filters/{filter_uuid}/manifest", writer, library.ReadPrivate, (*Server).showManifest},
		{"GET", "/v2/content/items/explain", writer, noAction, (*Server).explainQuery},
		{"GET", "/v2/content/items/{id}/sources", writer, noAction, (*Server).showSources},
		{"GET", "/v2/content/items/{id}/history", writer, noAction, (*Server).showHistory},
		{"GET", "/v2/content/definitions", writer, noAction, (*Server).listDefinitions},
		{"GET", "/v2/content/status", writer, noAction, (*Server).showStatus},
		{"GET", "/v2/content/rights", anyToken, noAction, (*Server).showRights},
		{"GET", "/v2/content/changes", anyToken, noAction, (*Server).listChanges},
		{"GET", "/v2/content/filters/{filter_uuid}/events", anyToken, noAction, (*Server).streamEvents},
		{"GET", "/v2/content/facets", reader, noAction, (*Server).countValues},
		{"GET", "/v2/content/compare", writer, noAction, (*Server).compareQueries},
		{"GET", "/v2/content/suggest", reader, noAction, (*Server).suggest},
		{"GET", "/v2/content/refine", reader, noAction, (*Server).refine},
		{"GET", item.ShortLinkPath + "{code}", anyone, noAction, (*Server).followShortLink},
		{"GET", "/openapi.json", anyPage, noAction, (*Server).showOpenAPI},
	}
}

// resource holds all routes of one path.
type resource struct {
	path   string
	byVerb map[string]route
	// allow is the value of the header Allow.
	allow string
	// anyPage is true if web pages of every origin may read the responses.
	anyPage bool
}

// newMux groups the routes with the same path into one resource. The resource, not the mux, dispatches on the method, so that HEAD, OPTIONS
// and 405 work in the same way for all paths.
func (s *Server) newMux() (*http.ServeMux, error) {
	byPath := map[string]*resource{}
	for _, r := range routes() {
		res := byPath[r.path]
		if res == nil {
			res = &resource{path: r.path, byVerb: map[string]route{}}
			byPath[r.path] = res
		}
		if _, taken := res.byVerb[r.method]; taken {
			return nil, fmt.Errorf("two routes for %s %s", r.method, r.path)
		}
		res.byVerb[r.method] = r
		res.anyPage = res.anyPage || r.access == anyPage
		if r.method == http.MethodGet {
			res.byVerb[http.MethodHead] = r
		}
	}
	mux := http.NewServeMux()
	for path, res := range byPath {
		methods := []string{http.MethodOptions}
		for m := range res.byVerb {
			methods = append(methods, m)
		}
		slices.Sort(methods)
		res.allow = strings.Join(methods, ", ")
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { serving(w).serve(res, r) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { serving(w).serve(nil, r) })
	return mux, nil
}

// serving returns w as an exchange. ServeHTTP passes an exchange to the mux as the ResponseWriter.
func serving(w http.ResponseWriter) *exchange { return w.(*exchange) }

// plainPath removes the trailing slash from the path of a request. It returns false for a path that the mux would redirect to a cleaner one
// (//, /./, /../), because such paths count as unknown.
func plainPath(r *http.Request) bool {
	u := r.URL
	if len(u.Path) > 1 && strings.HasSuffix(u.EscapedPath(), "/") {
		u.Path = strings.TrimSuffix(u.Path, "/")
		u.RawPath = strings.TrimSuffix(u.RawPath, "/")
	}
	escaped := u.EscapedPath()
	if !strings.HasPrefix(escaped, "/") {
		return false
	}
	if escaped == "/" {
		return true
	}
	for segment := range strings.SplitSeq(escaped[1:], "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}
