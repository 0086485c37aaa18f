package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/httpapi"
)

// apiDocument is openapi.json, ready to hold answers against.
type apiDocument struct{ doc *openapi3.T }

var loadDocument = sync.OnceValues(func() (apiDocument, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromFile("openapi.json")
	if err != nil {
		return apiDocument{}, err
	}
	return apiDocument{doc}, doc.Validate(loader.Context)
})

func document(t testing.TB) apiDocument {
	t.Helper()
	d, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// find returns the path of the document that a request's path fits, the one with the fewest placeholders.
func (d apiDocument) find(path string) *openapi3.PathItem {
	var best *openapi3.PathItem
	fewest := 100
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for template, item := range d.doc.Paths.Map() {
		parts := strings.Split(strings.TrimSuffix(template, "/"), "/")
		if len(parts) != len(segments) {
			continue
		}
		placeholders, fits := 0, true
		for i, p := range parts {
			if strings.HasPrefix(p, "{") {
				placeholders++
				fits = fits && segments[i] != ""
			} else {
				fits = fits && p == segments[i]
			}
		}
		if fits && placeholders < fewest {
			best, fewest = item, placeholders
		}
	}
	return best
}

// everywhere are headers that need no word in the document.
var everywhere = []string{
	"Content-Type", "Content-Length", "Date", "Vary", "X-Request-Id", "X-Content-Type-Options", "Server", "Cache-Control",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Transfer-Encoding", "Connection",
}

// validate holds an answer against the document.
func (d apiDocument) validate(r *http.Request, got answer) error {
	if r.Method == http.MethodOptions && got.status == http.StatusNoContent {
		return nil // a property of every path, described in words
	}
	response, err := d.response(r, got.status)
	if err != nil {
		return err
	}
	for name := range got.header {
		if !slices.Contains(everywhere, name) && !declares(response, name) {
			err = errors.Join(err, fmt.Errorf("header %s is not described", name))
		}
	}
	if r.Method == http.MethodHead {
		if len(got.body) > 0 {
			err = errors.Join(err, errors.New("a body for HEAD"))
		}
		return err
	}
	return errors.Join(err, validateBody(response, got))
}

func declares(response *openapi3.Response, header string) bool {
	for name := range response.Headers {
		if http.CanonicalHeaderKey(name) == header {
			return true
		}
	}
	return false
}

// response finds the description of an answer.
func (d apiDocument) response(r *http.Request, status int) (*openapi3.Response, error) {
	shared := func(name string) (*openapi3.Response, error) { return d.doc.Components.Responses[name].Value, nil }
	path := d.find(r.URL.EscapedPath())
	if path == nil {
		if status != http.StatusNotFound {
			return nil, errors.New("the document does not have this path")
		}
		return shared("NotFound")
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	op := path.Operations()[method]
	switch {
	case op == nil && status == http.StatusMethodNotAllowed:
		return shared("MethodNotAllowed")
	case op == nil && method == http.MethodOptions && status == http.StatusForbidden:
		return shared("Forbidden")
	case op == nil && method == http.MethodOptions && status == http.StatusBadRequest:
		return shared("BadRequest")
	case op == nil && status == http.StatusNotFound && strings.ContainsAny(r.URL.EscapedPath(), ".") || op == nil && strings.Contains(r.URL.Path, "//"):
		return shared("NotFound")
	case op == nil:
		return nil, fmt.Errorf("the document does not have this method")
	}
	ref := op.Responses.Value(strconv.Itoa(status))
	if ref == nil {
		return nil, fmt.Errorf("status %d is not described", status)
	}
	return ref.Value, nil
}

func validateBody(response *openapi3.Response, got answer) error {
	if len(response.Content) == 0 {
		if len(got.body) > 0 {
			return fmt.Errorf("a body that is not described")
		}
		return nil
	}
	kind, _, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("Content-Type %q: %w", got.header.Get("Content-Type"), err)
	}
	media := response.Content[kind]
	if media == nil {
		return fmt.Errorf("Content-Type %s is not described", kind)
	}
	texts := [][]byte{got.body}
	if kind == "application/x-ndjson" {
		texts = nil
		for line := range strings.Lines(string(got.body)) {
			texts = append(texts, []byte(line))
		}
	}
	for _, text := range texts {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			return fmt.Errorf("the body is not JSON: %w", err)
		}
		if err := media.Schema.Value.VisitJSON(v, openapi3.VisitAsResponse(), openapi3.MultiErrors()); err != nil {
			return err
		}
		if kind == "application/problem+json" {
			if status := v.(map[string]any)["status"]; status != float64(got.status) {
				return fmt.Errorf("the problem says status %v", status)
			}
		}
	}
	return nil
}

// TestDocumentAndRoutes holds the document and the routes against each other, both ways.
func TestDocumentAndRoutes(t *testing.T) {
	var described, routed []string
	for path, item := range document(t).doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+strings.TrimSuffix(path, "/"))
		}
	}
	for _, r := range httpapi.Routes() {
		routed = append(routed, r[0]+" "+r[1])
	}
	slices.Sort(described)
	slices.Sort(routed)
	if diff := cmp.Diff(routed, described); diff != "" {
		t.Errorf("routes (-) and openapi.json (+) differ:\n%s", diff)
	}
}

// specified are the endpoints of the specification; everything else is ours and marked as such.
var specified = []string{
	"POST /v2/content/filters", "GET /v2/content/filters", "PUT /v2/content/filters", "GET /v2/content/filters/{filter_uuid}",
	"DELETE /v2/content/filters/{filter_uuid}", "GET /v2/content/items", "POST /v2/content/", "POST /v1/tags/",
	"DELETE /v1/tags/{namespace}/{key}/{ugc_id}", "GET /v1/tags/{namespace}/{key}/", "GET /v1/tags/ugc/{ugc_id}/",
	"GET /v1/activate_units/", "GET /v1/activate_units/{id}", "GET /v1/ugc/{ugc_id}/", "GET /v1/ugc/collections/{collection_id}/",
}

func TestExtensionsAreMarked(t *testing.T) {
	seen := 0
	for path, item := range document(t).doc.Paths.Map() {
		for method, op := range item.Operations() {
			marked := op.Extensions["x-vitrine-extension"] == true
			inSpec := slices.Contains(specified, method+" "+path)
			if marked == inSpec {
				t.Errorf("%s %s: marked as an extension: %t, in the specification: %t", method, path, marked, inSpec)
			}
			if inSpec {
				seen++
			}
		}
	}
	if seen != len(specified) {
		t.Errorf("%d of the specification's %d endpoints are described", seen, len(specified))
	}
}

// TestDocumentationIsComplete holds docs/http-api.md against the endpoints and the problems that there are.
func TestDocumentationIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range document(t).doc.Paths.Map() {
		for method := range item.Operations() {
			if !strings.Contains(string(text), method+" "+path+"`") {
				t.Errorf("docs/http-api.md lacks `%s %s`", method, path)
			}
		}
	}
	for _, problem := range httpapi.ProblemTypes() {
		if !strings.Contains(string(text), "`"+problem+"`") {
			t.Errorf("docs/http-api.md lacks the problem `%s`", problem)
		}
	}
}
