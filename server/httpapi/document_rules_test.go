package httpapi_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// components returns the names of all components by kind, in the form in which references contain them.
func components(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Components map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for kind, named := range d.Components {
		all[kind] = slices.Sorted(maps.Keys(named))
	}
	return all
}

// TestComponentNamesAreUnique checks that all components have different names, because generators turn each component into a type in the
// same namespace.
func TestComponentNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for kind, names := range components(t) {
		for _, name := range names {
			plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
			if before, taken := seen[plain]; taken {
				t.Errorf("%s and %s/%s have the same name for a generator", before, kind, name)
			}
			seen[plain] = kind + "/" + name
		}
	}
}

func TestComponentsAreUsed(t *testing.T) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for kind, names := range components(t) {
		for _, name := range names {
			if kind != "securitySchemes" && !strings.Contains(string(text), `"#/components/`+kind+"/"+name+`"`) {
				t.Errorf("the component %s/%s is not used", kind, name)
			}
		}
	}
}

// TestNumbersAreWide checks that every number has a format, unless it fits into 32 bits. Without a format, generators use 32 bits, but ids
// can have 53 bits.
func TestNumbersAreWide(t *testing.T) {
	eachSchema(document(t).doc, func(at string, s *openapi3.Schema) {
		switch {
		case s.Type.Is("number") && s.Format != "double":
			t.Errorf("%s: a number needs the format double", at)
		case s.Type.Is("integer") && s.Format == "" && len(s.Enum) == 0 && (s.Max == nil || *s.Max > 1<<31-1):
			t.Errorf("%s: an integer needs the format int64, or a maximum that 32 bits hold", at)
		}
	})
}

// idTexts are the names of ids that are strings: UUIDs, lists of ids, and ids of other systems.
var idTexts = []string{"filter_id", "filter_uuid", "platform_id", "external_id", "activate_unit_id", "author_id"}

// TestIdsAreInt64 checks that every numeric id is an integer of the format int64. The pattern also contains the names of ids that do not
// end in "id".
func TestIdsAreInt64(t *testing.T) {
	name := regexp.MustCompile(`(?:^|[ ._])(id|campaign|[a-z_]*_id|ugc_ids\[\]|unknown_ids\[\]|activate_units\[\])$`)
	found := 0
	eachSchema(document(t).doc, func(at string, s *openapi3.Schema) {
		if at == "Id" || name.MatchString(at) && !s.Type.Is("object") && !slices.ContainsFunc(idTexts, func(text string) bool { return strings.HasSuffix(at, text) }) {
			found++
			if !s.Type.Is("integer") || s.Format != "int64" {
				t.Errorf("%s: an id is an integer of the format int64", at)
			}
		}
	})
	if found < 10 {
		t.Errorf("%d ids were found", found)
	}
}

// TestDocumentServerURL checks that the server URL is relative to the URL of the document, so that it also works below a path.
func TestDocumentServerURL(t *testing.T) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Servers []struct{ URL string } }
	if err := json.Unmarshal(text, &d); err != nil || len(d.Servers) != 1 {
		t.Fatalf("%d servers, %v", len(d.Servers), err)
	}
	for document, want := range map[string]string{
		"https://content.example/openapi.json":      "https://content.example/",
		"https://content.example/base/openapi.json": "https://content.example/base/",
	} {
		at, err := url.Parse(document)
		if err != nil {
			t.Fatal(err)
		}
		if server, err := at.Parse(d.Servers[0].URL); err != nil || server.String() != want {
			t.Errorf("the server of %s is %s (%v), want %s", document, server, err, want)
		}
	}
}

// TestNullHasAType checks that every nullable schema has a type, because in OpenAPI 3.0, nullable has no meaning without a type.
func TestNullHasAType(t *testing.T) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d any
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for _, of := range v {
				walk(at, of)
			}
		case map[string]any:
			if _, nullable := v["nullable"]; nullable && v["type"] == nil {
				t.Errorf("%s: nullable without a type", at)
			}
			for name, of := range v {
				walk(at+"/"+name, of)
			}
		}
	}
	walk("", d)
}

// TestEveryOperationHasExamples checks that each operation has a description and examples of its bodies and parameters.
// Loading the document validates each example.
func TestEveryOperationHasExamples(t *testing.T) {
	examples := func(at string, c openapi3.Content) {
		for kind, media := range c {
			if len(media.Examples) == 0 {
				t.Errorf("%s: %s has no example", at, kind)
			}
		}
	}
	for path, pathItem := range document(t).doc.Paths.Map() {
		for method, op := range pathItem.Operations() {
			at := method + " " + path
			if op.Description == "" || op.Summary == "" {
				t.Errorf("%s: no summary or no description", at)
			}
			if len(op.Parameters) > 0 && !slices.ContainsFunc(op.Parameters, func(p *openapi3.ParameterRef) bool { return p.Value.Example != nil }) {
				// An import has one parameter. It needs no example, because its enum lists the values.
				if op.OperationID != "importItems" {
					t.Errorf("%s: no parameter has an example", at)
				}
			}
			for _, p := range op.Parameters {
				if p.Value.Required && p.Value.Example == nil {
					t.Errorf("%s: the required parameter %s has no example", at, p.Value.Name)
				}
			}
			if op.RequestBody != nil {
				examples(at, op.RequestBody.Value.Content)
			}
			for status, r := range op.Responses.Map() {
				if status[0] == '2' {
					examples(at+" "+status, r.Value.Content)
				}
			}
		}
	}
}

// parameter returns the schema of a parameter component.
func parameter(t *testing.T, name string) *openapi3.Schema {
	t.Helper()
	return document(t).doc.Components.Parameters[name].Value.Schema.Value
}

// TestPatterns checks that the patterns in the document accept the same values as the server. looser lists values that only the document
// accepts, because no pattern can express the rule.
func TestPatterns(t *testing.T) {
	order := func(s string) error { _, err := query.ParseOrder(s); return err }
	favourite := func(s string) error {
		namespace, key := item.MarketerNamespace, s
		if at := strings.LastIndexByte(s, ':'); at >= 0 {
			namespace, key = s[:at], s[at+1:]
		}
		return errors.Join(item.ValidNamespace(namespace), item.ValidKey(namespace, key))
	}
	newTag := document(t).doc.Components.Schemas["NewTag"].Value.Properties
	key := func(s string) error {
		if err := item.ValidKey("any", s); err != nil {
			return item.ValidKey(item.HashtagNamespace, s)
		}
		return nil
	}
	var sorts []string
	for _, field := range query.SortableFields(query.Private) {
		switch field {
		case query.RandomKey:
			sorts = append(sorts, field)
		default:
			sorts = append(sorts, field+":desc", " "+field+":desc , submission.a:b:asc")
		}
	}
	for name, of := range map[string]struct {
		schema *openapi3.Schema
		server func(string) error
		values []string // values that both accept or both refuse
		looser []string // values that the document accepts and the server refuses
	}{
		"sort_by": {
			parameter(t, "sort_by"), order,
			append(sorts, "id", "id:", "id:down", ":asc", "id:asc,", ",id:asc", "id:asc,,campaign:asc", "random:asc,", "id:asc random"),
			[]string{"nofield:asc", "id:asc,id:desc", "_score:asc", "random:asc"},
		},
		"favorite_tag": {
			parameter(t, "favorite_tag"), favourite,
			[]string{"summer", "Summer", "a1", "marketer_tags:summer", "a:b:summer", "hashtags:été_26", "hashtags:Summer", "hashtags:a b", "a/b:summer", "a.b:summer", ":summer", "summer:", strings.Repeat("a", 64), strings.Repeat("a", 65)},
			[]string{"ugc:summer", " :summer", "hashtags:Été"},
		},
		"namespace": {
			newTag["namespace"].Value, item.ValidNamespace,
			[]string{"marketer_tags", "two words", "été", "a/b", "a.b", "", " ", "a\x00", strings.Repeat("ü", 63), strings.Repeat("a", 64)},
			[]string{"ugc"},
		},
		"key": {
			newTag["key"].Value, key,
			[]string{"summer", "été_26", "Summer", "a b", "a-b", "", "a.b", "#a", strings.Repeat("a", 100), strings.Repeat("a", 101)},
			[]string{"Été", "—"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, value := range of.values {
				document, server := of.schema.VisitJSONString(value), of.server(value)
				if (document == nil) != (server == nil) {
					t.Errorf("%q: the document says %v, the server %v", value, document, server)
				}
			}
			for _, value := range of.looser {
				if err := of.schema.VisitJSONString(value); err != nil || of.server(value) == nil {
					t.Errorf("%q is no longer what only the server refuses: %v", value, err)
				}
			}
		})
	}
}

// TestParameterRules checks that the server enforces each rule about parameters that belong together (x-vitrine-parameter-rules). For every
// subset of the parameters of a rule, it sends a request with these parameters and the required ones.
func TestParameterRules(t *testing.T) {
	allows := map[string]func(sent, all int) bool{
		"at-least-one": func(sent, _ int) bool { return sent >= 1 },
		"exactly-one":  func(sent, _ int) bool { return sent == 1 },
		"at-most-one":  func(sent, _ int) bool { return sent <= 1 },
		"all-or-none":  func(sent, all int) bool { return sent == 0 || sent == all },
	}
	wall := filterUUID("summer-wall")
	values := map[string]string{
		"field": "tags", "q": "*:*", "filter": wall, "from_filter": wall, "from_q": "a", "from_sort_by": "id:asc", "from_favorite_tag": "hero",
		"collection_id": "1", "namespace": "marketer_tags", "tags_required": "summer",
	}
	a, rules := newApp(t), 0
	for path, pathItem := range document(t).doc.Paths.Map() {
		for method, op := range pathItem.Operations() {
			text, err := json.Marshal(op.Extensions["x-vitrine-parameter-rules"])
			if err != nil {
				t.Fatal(err)
			}
			var of []struct {
				Rule       string
				Parameters []string
			}
			if err := json.Unmarshal(text, &of); err != nil {
				t.Fatalf("%s: %v", op.OperationID, err)
			}
			for _, r := range of {
				rules++
				for subset := range 1 << len(r.Parameters) {
					var sent []string
					for i, name := range r.Parameters {
						if op.Parameters.GetByInAndName("query", name) == nil {
							t.Fatalf("%s: a rule names the parameter %s, which does not exist", op.OperationID, name)
						}
						if subset&(1<<i) != 0 {
							sent = append(sent, name)
						}
					}
					address, send := path, url.Values{}
					for _, p := range op.Parameters {
						switch {
						case p.Value.In == "path":
							address = strings.ReplaceAll(address, "{"+p.Value.Name+"}", values[p.Value.Name])
						case p.Value.Required || slices.Contains(sent, p.Value.Name):
							send.Set(p.Value.Name, values[p.Value.Name])
						}
					}
					allowed := allows[r.Rule](len(sent), len(r.Parameters))
					got := a.send(call{method: method, url: address + "?" + send.Encode(), token: "rw"})
					if allowed && got.status != 200 || !allowed && (got.status != 400 || !slices.Contains(r.Parameters, got.member(t, "parameter").(string))) {
						t.Errorf("%s with %v: status %d, but the document has the rule %s of %v: %.500s", op.OperationID, sent, got.status, r.Rule, r.Parameters, got.body)
					}
				}
			}
		}
	}
	if rules < 5 {
		t.Errorf("%d rules were found", rules)
	}
}

// TestTimestampPattern checks that the pattern of timestamps accepts every form in which an item can store one.
func TestTimestampPattern(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(document.Components.Schemas["Timestamp"].Value.Pattern)
	for text, timestamp := range map[string]bool{
		"2019": true, "2019-07": true, "2019-07-14": true, "2019-07-14T10:00:00Z": true, "2019-07-14T10:00:00.123Z": true,
		"2019-": false, "2019-07-": false, "2019-07T10:00:00Z": false,
	} {
		if _, accepted := item.Millis(text); accepted != timestamp {
			t.Errorf("an item accepts the timestamp %s: %t, expected %t", text, accepted, timestamp)
		}
		if matches := pattern.MatchString(text); matches != timestamp {
			t.Errorf("the pattern matches %s: %t, expected %t", text, matches, timestamp)
		}
	}
}
