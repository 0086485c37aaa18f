package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// apiDocument is openapi.json, loaded for the validation of responses.
type apiDocument struct{ doc *openapi3.T }

// closedDocument is openapi.json with additional properties forbidden, because a response of this version must not have a member that the
// document does not describe. The published document allows additional properties, because later versions may add members.
var closedDocument = sync.OnceValues(func() (apiDocument, error) {
	d, err := readDocument()
	if err != nil {
		return d, err
	}
	eachSchema(d.doc, func(_ string, s *openapi3.Schema) {
		if s.AdditionalProperties.Has != nil && *s.AdditionalProperties.Has && len(s.Properties) > 0 {
			no := false
			s.AdditionalProperties.Has = &no
		}
		// No page may contain the same element twice. The published document does not declare uniqueItems, because some generators would
		// turn these arrays into unordered sets.
		if s.Items != nil && slices.Contains([]string{"#/components/schemas/Item", "#/components/schemas/Filter"}, s.Items.Ref) {
			s.UniqueItems = true
		}
	})
	// Exactly one member of Content has a variable name.
	content := d.doc.Components.Schemas["Content"].Value
	most := uint64(len(content.Properties) + 1)
	content.MinProps, content.MaxProps = most, &most
	content.AdditionalProperties = openapi3.AdditionalProperties{Schema: openapi3.NewSchemaRef("", openapi3.NewStringSchema())}
	return d, nil
})

func readDocument() (apiDocument, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromFile("openapi.json")
	if err != nil {
		return apiDocument{}, err
	}
	// A schema without a type accepts any value, including null. Set Nullable, because the validating library would reject null.
	eachSchema(doc, func(_ string, s *openapi3.Schema) { s.Nullable = s.Nullable || s.Type == nil })
	return apiDocument{doc}, doc.Validate(loader.Context)
}

// eachSchema calls visit for every schema of a document, with its location.
func eachSchema(doc *openapi3.T, visit func(at string, s *openapi3.Schema)) {
	seen := map[*openapi3.Schema]bool{}
	var walk func(at string, ref *openapi3.SchemaRef)
	walk = func(at string, ref *openapi3.SchemaRef) {
		if ref == nil || seen[ref.Value] {
			return
		}
		s := ref.Value
		seen[s] = true
		visit(at, s)
		for name, p := range s.Properties {
			walk(at+"."+name, p)
		}
		walk(at+"[]", s.Items)
		walk(at+".*", s.AdditionalProperties.Schema)
	}
	parameters := func(at string, all openapi3.Parameters) {
		for _, p := range all {
			walk(at+" "+p.Value.In+" "+p.Value.Name, p.Value.Schema)
		}
	}
	content := func(at string, all openapi3.Content) {
		for kind, media := range all {
			walk(at+" "+kind, media.Schema)
		}
	}
	for name, s := range doc.Components.Schemas {
		walk(name, s)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			at := method + " " + path
			parameters(at, op.Parameters)
			if op.RequestBody != nil {
				content(at, op.RequestBody.Value.Content)
			}
			for status, r := range op.Responses.Map() {
				content(at+" "+status, r.Value.Content)
				for name, h := range r.Value.Headers {
					walk(at+" "+status+" "+name, h.Value.Schema)
				}
			}
		}
	}
}

func document(t testing.TB) apiDocument {
	t.Helper()
	d, err := closedDocument()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// find returns the path in the document that matches a request path. If several match, it returns the one with the fewest placeholders.
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

// everywhere lists headers that the document does not have to describe, because many different responses have them.
var everywhere = []string{
	"Content-Type", "Content-Length", "Date", "Vary", "X-Request-Id", "X-Content-Type-Options", "Server", "Cache-Control",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Transfer-Encoding", "Connection",
}

// validate checks a response against the document.
func (d apiDocument) validate(r *http.Request, got answer) error {
	if r.Method == http.MethodOptions && got.status == http.StatusNoContent {
		return nil // the document describes this response for all paths, in prose
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
	return errors.Join(err, d.validateBody(r, response, got))
}

func declares(response *openapi3.Response, header string) bool {
	for name := range response.Headers {
		if http.CanonicalHeaderKey(name) == header {
			return true
		}
	}
	return false
}

// response finds the description of a response in the document.
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
		return methodNotAllowed(d), nil // described in prose, because OpenAPI describes only the methods that a path has
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

// methodNotAllowed returns the description of status 405. It is the description of status 404 with the header Allow.
func methodNotAllowed(d apiDocument) *openapi3.Response {
	r := *d.doc.Components.Responses["NotFound"].Value
	r.Headers = maps.Clone(r.Headers)
	r.Headers["Allow"] = &openapi3.HeaderRef{}
	return &r
}

// lineSchema returns the schema of one line of a stream. In OpenAPI 3.0, a body can refer to this schema only in prose.
func (d apiDocument) lineSchema(r *http.Request) *openapi3.Schema {
	if r.Method == http.MethodPost {
		return d.doc.Components.Schemas["BulkAnswer"].Value
	}
	return openapi3.NewObjectSchema().WithRequired([]string{"id", "content"})
}

// filterForms lists the members of a filter response in addition to total_results. The key is true for a response to info=1, which is the
// filter, and false for a list of items.
var filterForms = map[bool][]string{
	false: {"_embedded", "_links"},
	true:  {"id", "filter_uuid", "name", "platform_page_id", "sort_by", "is_editable", "managed_by", "read_access", "favorite_tag", "last_modified"},
}

// checkFilterForm returns an error that names the missing members of a filter response, and the members that belong to the other form.
func checkFilterForm(r *http.Request, body map[string]any) error {
	info := r.URL.Query().Get("info") == "1"
	var err error
	for _, name := range filterForms[info] {
		// READ-ONLY callers do not see an order that uses private fields.
		hidden := name == "sort_by" && body["query"] == nil
		if _, ok := body[name]; !ok && !hidden {
			err = errors.Join(err, fmt.Errorf("member %s is missing", name))
		}
	}
	for _, name := range filterForms[!info] {
		if _, ok := body[name]; ok {
			err = errors.Join(err, fmt.Errorf("member %s belongs to the other form", name))
		}
	}
	return err
}

func (d apiDocument) validateBody(r *http.Request, response *openapi3.Response, got answer) error {
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
	if kind == "text/event-stream" {
		return nil // TestEvents reads the events
	}
	texts, schema := [][]byte{got.body}, media.Schema.Value
	if kind == "application/x-ndjson" {
		texts, schema = nil, d.lineSchema(r)
		for line := range strings.Lines(string(got.body)) {
			texts = append(texts, []byte(line))
		}
	}
	for _, text := range texts {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			return fmt.Errorf("the body is not JSON: %w", err)
		}
		if err := schema.VisitJSON(v, openapi3.VisitAsResponse(), openapi3.MultiErrors()); err != nil {
			return err
		}
		if kind == "application/problem+json" {
			if status := v.(map[string]any)["status"]; status != float64(got.status) {
				return fmt.Errorf("the problem says status %v", status)
			}
		}
		if media.Schema.Ref == "#/components/schemas/FilterItems" {
			if err := checkFilterForm(r, v.(map[string]any)); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestDocumentAndRoutes checks that the document describes all routes and no others.
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

// specified lists the endpoints of the specification. The document marks all other endpoints as extensions.
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

// TestDocumentationIsComplete checks that docs/http-api.md describes all types of problems.
func TestDocumentationIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range httpapi.ProblemTypes() {
		if !strings.Contains(string(text), "`"+problem+"`") {
			t.Errorf("docs/http-api.md lacks the problem `%s`", problem)
		}
	}
}
