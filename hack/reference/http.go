package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// document is the part of an OpenAPI document that the page shows.
type document struct {
	Info       struct{ Description string }
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]*operation
	Components struct {
		Parameters map[string]*parameter
		Responses  map[string]*response
		Schemas    map[string]*schema
	}
}

type operation struct {
	Summary, Description string
	Tags                 []string
	Deprecated           bool
	Extension            bool   `json:"x-vitrine-extension"`
	Token                string `json:"x-vitrine-token"`
	Parameters           []*parameter
	Rules                []parameterRule `json:"x-vitrine-parameter-rules"`
	RequestBody          struct{ Content content }
	Responses            map[string]*response
}

// marks returns the words "Extension" and "Deprecated", in Markdown, if they apply to an operation.
func (o *operation) marks() (marks string) {
	if o.Extension {
		marks = " *Extension.*"
	}
	if o.Deprecated {
		marks += " *Deprecated.*"
	}
	return marks
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Description string
	Required    bool
	Extension   bool `json:"x-vitrine-extension"`
	Schema      *schema
}

// parameterRule says how many of some parameters a request may have.
type parameterRule struct {
	Rule       string
	Parameters []string
}

// String returns the rule in Markdown.
func (r parameterRule) String() string {
	names := make([]string, len(r.Parameters))
	for i, name := range r.Parameters {
		names[i] = code(name)
	}
	return strings.ReplaceAll(r.Rule, "-", " ") + " of " + strings.Join(names, ", ")
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     content
}

// content maps a media type to the schema of its values.
type content map[string]struct{ Schema *schema }

// String returns the media types with their schemas.
func (c content) String() string {
	var types []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		types = append(types, fmt.Sprintf("%s as %s", c[name].Schema.kind(), code(name)))
	}
	return strings.Join(types, ", ")
}

// commonTitle is the heading of the section about responses that several endpoints have in common.
const commonTitle = "Common responses"

// HTTP returns the reference of the HTTP API, from its OpenAPI document in JSON.
func HTTP(openapi []byte) (string, error) {
	var d document
	if err := json.Unmarshal(openapi, &d); err != nil {
		return "", fmt.Errorf("read the OpenAPI document: %w", err)
	}
	p := newPage("HTTP API reference", "server/httpapi/openapi.json", "The server describes itself at `/openapi.json`, and this page shows the same description. [The HTTP API](../http-api.md) explains it with\n"+
		"examples. *Extension* marks what is not in the content library interface specification 2.0.\n\n"+prose(d.Info.Description))
	type endpoint struct {
		method, path string
		*operation
	}
	endpoints := map[string][]endpoint{}
	shared := map[string]*response{} // the responses that several endpoints have in common, by status
	for path, methods := range d.Paths {
		for method, o := range methods {
			endpoints[o.Tags[0]] = append(endpoints[o.Tags[0]], endpoint{strings.ToUpper(method), path, o})
		}
	}
	var overview [][]string
	for _, tag := range d.Tags {
		slices.SortFunc(endpoints[tag.Name], func(a, b endpoint) int {
			return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method))
		})
		for _, e := range endpoints[tag.Name] {
			name := e.method + " " + e.path
			overview = append(overview, []string{fmt.Sprintf("[`%s`](#%s)", name, anchor(name)), e.Token, e.Summary + e.marks()})
		}
	}
	p.table([]string{"endpoint", "token", "purpose"}, overview)
	for _, tag := range d.Tags {
		p.line("\n## %s%s\n\n%s", strings.ToUpper(tag.Name[:1]), tag.Name[1:], prose(tag.Description))
		for _, e := range endpoints[tag.Name] {
			p.line("\n### `%s %s`\n", e.method, e.path)
			p.line("%s.%s %s", e.Summary, e.marks(), prose(e.Description))
			var parameters [][]string
			for _, ref := range e.Parameters {
				v := ref
				if ref.Ref != "" {
					v = d.Components.Parameters[last(ref.Ref)]
				}
				text := []string{prose(v.Description), v.Schema.limits()}
				if v.Required {
					text = append([]string{"**Required.**"}, text...)
				}
				if v.Extension {
					text = append(text, "*Extension.*")
				}
				parameters = append(parameters, []string{code(v.Name), v.In, v.Schema.kind(), strings.Join(strings.Fields(strings.Join(text, " ")), " ")})
			}
			p.table([]string{"parameter", "in", "type", "description"}, parameters)
			var rules []string
			for _, r := range e.Rules {
				rules = append(rules, r.String())
			}
			if len(rules) > 0 {
				p.line("\nA request has %s.", strings.Join(rules, ", and "))
			}
			if len(e.RequestBody.Content) > 0 {
				p.line("\nBody: %s.", e.RequestBody.Content)
			}
			var responses [][]string
			var common []string
			for _, status := range slices.Sorted(maps.Keys(e.Responses)) {
				v := e.Responses[status]
				if v.Ref == "" {
					responses = append(responses, []string{code(status), prose(v.Description), v.Content.String()})
					continue
				}
				shared[status] = d.Components.Responses[last(v.Ref)]
				common = append(common, fmt.Sprintf("[%s](#%s)", status, anchor(commonTitle)))
			}
			p.table([]string{"status", "meaning", "body"}, responses)
			if len(common) > 0 {
				p.line("\nOther responses: %s.", strings.Join(common, ", "))
			}
		}
	}
	var rows [][]string
	for _, status := range slices.Sorted(maps.Keys(shared)) {
		rows = append(rows, []string{code(status), prose(shared[status].Description), shared[status].Content.String()})
	}
	p.line("\n## %s", commonTitle)
	p.table([]string{"status", "meaning", "body"}, rows)
	p.line("\n## Schemas")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		p.line("\n### %s\n\n%s", name, strings.TrimSpace(prose(s.Description)+" "+s.limits()))
		p.table([]string{"member", "type", "description"}, s.rows(""))
	}
	return p.String(), nil
}
