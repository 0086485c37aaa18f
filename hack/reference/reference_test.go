package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"a  b\nc":           "a b c",
		"a|b <c> * [d]":     `a\|b \<c\> \* \[d\]`,
		"page_size, _score": `page_size, \_score`,
		"`<a>_` <a>":        "`<a>_` \\<a\\>",
		"`a|b`, a `":        "`a\\|b`, a `",
	} {
		if got := prose(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"": "", "a|b": "`a\\|b`", "a`b": "`` a`b ``"} {
		if got := code(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestAPI(t *testing.T) {
	got, err := API([]byte(`
spec:
  group: example.dev
  names: {kind: Thing, plural: things, shortNames: [th]}
  versions:
  - name: v1
    additionalPrinterColumns: [{name: Wide, description: A column., priority: 1}]
    schema:
      openAPIV3Schema:
        description: Thing is one.
        properties:
          spec:
            required: [name]
            x-kubernetes-validations: [{rule: x, message: name never changes}]
            properties:
              name: {type: string, description: name names it., minLength: 1, maxLength: 9}
              parts:
                type: array
                maxItems: 3
                items: {type: object, properties: {of: {type: string, enum: [a, b]}}}
          status:
            properties:
              conditions: {type: array, items: {type: object, properties: {type: {type: string}}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ = strings.Cut(got, "\n## ")
	want := "Thing\n\nThing is one.\n\n`apiVersion: example.dev/v1`, `kind: Thing`. In kubectl: `things`, `th`.\n\nRule: name never changes.\n" +
		"\n| spec | type | description |\n| --- | --- | --- |\n| `name` | string | **Required.** name names it. 1 to 9 characters. |\n" +
		"| `parts` | []object | At most 3 items. |\n| `parts[].of` | string | One of `a`, `b`. |\n" +
		"\n| status | type | description |\n| --- | --- | --- |\n| `conditions` | []Condition |  |\n" +
		"\n| column of `kubectl get` | shown | description |\n| --- | --- | --- |\n| Wide | with `-o wide` | A column. |\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHTTP(t *testing.T) {
	got, err := HTTP([]byte(`{"info": {"description": "About."}, "tags": [{"name": "items", "description": "Items."}],
		"paths": {"/x/{id}": {"get": {"tags": ["items"], "summary": "Get x", "x-vitrine-extension": true,
			"x-vitrine-parameter-rules": [{"rule": "at-least-one", "parameters": ["id", "q"]}, {"rule": "all-or-none", "parameters": ["q"]}],
			"parameters": [{"$ref": "#/components/parameters/id"}, {"name": "q", "in": "query", "schema": {"type": "string", "default": ""}}],
			"responses": {"200": {"description": "X.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/X"}}}}, "404": {"$ref": "#/components/responses/None"}}}}},
		"components": {"parameters": {"id": {"name": "id", "in": "path", "required": true, "schema": {"type": "integer", "minimum": 1}}},
			"responses": {"None": {"description": "There is none."}}, "schemas": {"X": {"type": "object", "properties": {"id": {"type": "integer"},
			"one": {"type": "array", "minItems": 1, "maxItems": 1, "items": {"type": "string", "enum": ["", "a"]}}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### `GET /x/{id}`\n\nGet x. *Extension.* \n", "| `id` | path | integer | **Required.** At least 1. |",
		"| `q` | query | string | Default: the empty string. |", "\nA request has at least one of `id`, `q`, and all or none of `q`.\n", "| `200` | X. | [X](#x) as `application/json` |",
		"Other responses: [404](#common-responses).", "| `404` | There is none. |  |", "### X\n", "| `id` | integer |  |", "| `one` | []string | Exactly 1 item. Each: One of the empty string, `a`. |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
}

func TestCLI(t *testing.T) {
	root := &cobra.Command{Use: "tool"}
	sub := &cobra.Command{Use: "do FILE", Short: "Do it", Example: "  # Do x\n  tool do x", Run: func(*cobra.Command, []string) {}}
	sub.Flags().StringP("out", "o", "text", "the `FORMAT` of the output")
	sub.Flags().Bool("hidden", false, "")
	if err := sub.Flags().MarkHidden("hidden"); err != nil {
		t.Fatal(err)
	}
	root.AddCommand(sub)
	got, err := CLI(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"* [tool do](#tool-do)\t - Do it", "## tool do\n\nDo it\n", "```\ntool do FILE [flags]\n```", "```\n  # Do x\n  tool do x\n```", "-o, --out FORMAT   the FORMAT of the output (default \"text\")",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "hidden") || strings.Count(got, "tool do](") != 1 {
		t.Errorf("the page has the hidden flag or more than one list of commands:\n%s", got)
	}
}

func TestMetrics(t *testing.T) {
	all := Registry{}
	all.MustRegister(prometheus.NewCounterVec(prometheus.CounterOpts{Name: "x_total", Help: `A "count".`}, []string{"a", "b"}),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "x_seconds", Help: "Times."}, nil), prometheus.NewGauge(prometheus.GaugeOpts{Name: "x", Help: "A gauge."}))
	got := Metrics(all)
	for _, want := range []string{"| `x_total` | counter | `a`, `b` | A \"count\". |", "| `x_seconds` | histogram |  | Times. |", "| `x` | gauge |  | A gauge. |"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
}
