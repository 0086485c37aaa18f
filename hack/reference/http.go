package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// extended reports whether the extensions of a part of the document contain the mark of members that are not in the specification.
func extended(extensions map[string]any) bool { return extensions["x-vitrine-extension"] == true }

// marks returns the words "Extension" and "Deprecated", in Markdown, if they apply to an operation.
func marks(o *openapi3.Operation) (marks string) {
	if extended(o.Extensions) {
		marks = " *Extension.*"
	}
	if o.Deprecated {
		marks += " *Deprecated.*"
	}
	return marks
}

// parameterRules says how many of some parameters a request may have.
func parameterRules(o *openapi3.Operation) (rules []string) {
	list, _ := o.Extensions["x-vitrine-parameter-rules"].([]any)
	for _, each := range list {
		rule := each.(map[string]any)
		var names []string
		for _, name := range rule["parameters"].([]any) {
			names = append(names, code(fmt.Sprint(name)))
		}
		rules = append(rules, strings.ReplaceAll(fmt.Sprint(rule["rule"]), "-", " ")+" of "+strings.Join(names, ", "))
	}
	return rules
}

// media returns media types with their schemas.
func media(c openapi3.Content) string {
	var types []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		types = append(types, fmt.Sprintf("%s as %s", kind(c[name].Schema), code(name)))
	}
	return strings.Join(types, ", ")
}

// endpoint is an operation of the API.
type endpoint struct {
	method, path string
	*openapi3.Operation
}

// commonTitle is the heading of the section about responses that several endpoints have in common.
const commonTitle = "Common responses"

// HTTP returns the reference of the HTTP API, from its OpenAPI document in JSON.
func HTTP(openapi []byte) (string, error) {
	d, err := openapi3.NewLoader().LoadFromData(openapi)
	if err != nil {
		return "", fmt.Errorf("read the OpenAPI document: %w", err)
	}
	p := newPage("HTTP API reference", "server/httpapi/openapi.json", "The server describes itself at `/openapi.json`, and this page shows the same description. [The HTTP API](../http-api.md) explains it with\n"+
		"examples. *Extension* marks what is not in the content library interface specification 2.0.\n\n"+prose(d.Info.Description))
	endpoints := map[string][]endpoint{}
	shared := map[string]*openapi3.Response{} // the responses that several endpoints have in common, by status
	for path, item := range d.Paths.Map() {
		for method, o := range item.Operations() {
			endpoints[o.Tags[0]] = append(endpoints[o.Tags[0]], endpoint{method, path, o})
		}
	}
	var overview [][]string
	for _, tag := range d.Tags {
		slices.SortFunc(endpoints[tag.Name], func(a, b endpoint) int {
			return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method))
		})
		for _, e := range endpoints[tag.Name] {
			name := e.method + " " + e.path
			token := fmt.Sprint(e.Extensions["x-vitrine-token"])
			if action := e.Extensions["x-vitrine-action"]; action != nil {
				token += fmt.Sprintf(", `%s`", action)
			}
			overview = append(overview, []string{fmt.Sprintf("[`%s`](#%s)", name, anchor(name)), token, e.Summary + marks(e.Operation)})
		}
	}
	p.table([]string{"endpoint", "token", "purpose"}, overview)
	for _, tag := range d.Tags {
		p.line("\n## %s%s\n\n%s", strings.ToUpper(tag.Name[:1]), tag.Name[1:], prose(tag.Description))
		for _, e := range endpoints[tag.Name] {
			p.endpoint(e, shared)
		}
	}
	var common [][]string
	for _, status := range slices.Sorted(maps.Keys(shared)) {
		common = append(common, []string{code(status), prose(*shared[status].Description), media(shared[status].Content)})
	}
	p.line("\n## %s", commonTitle)
	p.table([]string{"status", "meaning", "body"}, common)
	p.line("\n## Schemas")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name].Value
		p.line("\n### %s\n\n%s", name, strings.TrimSpace(prose(s.Description)+" "+limits(s)))
		p.table([]string{"member", "type", "description"}, rows(s, ""))
	}
	return p.String(), nil
}

// endpoint describes an endpoint, and adds to shared its responses that it has in common with other endpoints.
func (p *page) endpoint(e endpoint, shared map[string]*openapi3.Response) {
	p.line("\n### `%s %s`\n", e.method, e.path)
	p.line("%s.%s %s", e.Summary, marks(e.Operation), prose(e.Description))
	var parameters [][]string
	for _, ref := range e.Parameters {
		v := ref.Value
		text := []string{prose(v.Description), limits(v.Schema.Value)}
		if v.Required {
			text = append([]string{"**Required.**"}, text...)
		}
		if extended(v.Extensions) {
			text = append(text, "*Extension.*")
		}
		parameters = append(parameters, []string{code(v.Name), v.In, kind(v.Schema), strings.Join(strings.Fields(strings.Join(text, " ")), " ")})
	}
	p.table([]string{"parameter", "in", "type", "description"}, parameters)
	if rules := parameterRules(e.Operation); len(rules) > 0 {
		p.line("\nA request has %s.", strings.Join(rules, ", and "))
	}
	if e.RequestBody != nil {
		p.line("\nBody: %s.", media(e.RequestBody.Value.Content))
	}
	var responses [][]string
	var common []string
	for _, status := range slices.Sorted(maps.Keys(e.Responses.Map())) {
		v := e.Responses.Value(status)
		if v.Ref == "" {
			responses = append(responses, []string{code(status), prose(*v.Value.Description), media(v.Value.Content)})
			continue
		}
		shared[status] = v.Value
		common = append(common, fmt.Sprintf("[%s](#%s)", status, anchor(commonTitle)))
	}
	p.table([]string{"status", "meaning", "body"}, responses)
	if len(common) > 0 {
		p.line("\nOther responses: %s.", strings.Join(common, ", "))
	}
}
