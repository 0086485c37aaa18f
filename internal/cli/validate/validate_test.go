package validate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
)

func judged(t *testing.T, text string) Report {
	t.Helper()
	objects, problems, err := manifest.Read([]string{manifest.Stdin}, strings.NewReader(text), Ours)
	if err != nil {
		t.Fatal(err)
	}
	r, all, err := Run(t.Context(), objects, problems, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(objects) {
		t.Errorf("%d objects judged of %d", len(all), len(objects))
	}
	return r
}

func object(kind, name, spec string) string {
	return fmt.Sprintf("---\napiVersion: vitrine.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: {%s}\n", kind, name, spec)
}

func unit(name, more string) string {
	return object(v1alpha1.ActivateUnitKind, name, "name: Unit, imageURL: 'https://a.example/a.png', clickThroughURL: 'https://a.example/', "+more)
}

// TestRules checks the rules and places of the reported findings. object writes spec on one line, so the columns in want include the prefix
// `spec: {`.
func TestRules(t *testing.T) {
	tag := func(name, key string) string {
		return object(v1alpha1.TagKind, name, "namespace: vibe, key: "+key+", items: [1]")
	}
	filter := func(name, spec string) string { return object(v1alpha1.ContentFilterKind, name, spec) }
	token := func(name, spec string) string { return object(v1alpha1.AccessTokenKind, name, spec) }
	hook := func(name, more string) string {
		return object(v1alpha1.WebhookKind, name, "url: 'https://a.example/', "+more)
	}
	property := func(more string) string { return object(v1alpha1.PropertyKind, "default", "displayName: Shop"+more) }
	guest := func(name, spec string) string {
		text := object(v1alpha1.AccessTokenKind, name, "propertyRef: {namespace: shop, name: default}, "+spec)
		return strings.Replace(text, "metadata: {name: ", "metadata: {namespace: guests, name: ", 1)
	}
	const guestGrant = ", readOnlyQuery: 'approval_status:app', allowFrom: [{namespaces: {names: [guests]}, kinds: [AccessToken]}]"
	tests := map[string]struct {
		text string
		want []string // severity rule line:column member
		says string
	}{
		"valid":                    {text: filter("a", "query: love") + tag("a", "x") + unit("a", "default: true") + token("a", "class: ReadOnly")},
		"a path in the repository": {text: strings.Replace(filter("a", "query: love"), "{name: a}", "{name: a, annotations: {vitrine.dev/source-path: walls/a.yaml}}", 1)},
		"a bad path": {
			strings.Replace(filter("a", "query: love"), "{name: a}", "{name: a, annotations: {vitrine.dev/source-path: /a.yaml}}", 1),
			[]string{"warning annotation 4:60 metadata.annotations[vitrine.dev/source-path]"}, "must be the path of a YAML or JSON file",
		},
		"a broken query": {
			filter("a", "query: 'a AND (b OR'"), []string{"error query 5:27 spec.query"}, "nothing after OR at position 11",
		},
		"a private field in another's query is allowed": {text: filter("a", "query: 'submission.email:x'")},
		"a broken order": {
			filter("a", "query: a, sortBy: 'created_on:dsc'"), []string{"error sort 5:38 spec.sortBy"}, "expected asc or desc",
		},
		"a broken selector": {
			object(v1alpha1.TagKind, "a", "namespace: vibe, key: x, selector: {query: 'a AND'}"), []string{"error query 5:57 spec.selector.query"}, "nothing after AND",
		},
		"a selector that names tags": {
			object(v1alpha1.TagKind, "a", "namespace: vibe, key: x, selector: {query: 'tags.vibe.key:y'}"),
			[]string{"error query 5:51 spec.selector.query"}, "cannot use fields of tags or units",
		},
		"a bad favourite": {
			filter("a", "query: a, favoriteTag: {namespace: ugc, key: x}"), []string{"error spec 5:31 spec.favoriteTag"}, "ugc",
		},
		"advice": {
			filter("a", "query: 'a OR b AND bogus:x'"),
			[]string{"warning query-mixed-operators 5:15 spec.query", "warning query-unknown-field 5:27 spec.query"}, `no field "bogus"`,
		},
		"advice on a selector": {
			object(v1alpha1.TagKind, "a", "namespace: vibe, key: x, selector: {query: 'text:a bogus:(b OR c)'}"),
			[]string{"warning query-unknown-field 5:59 spec.selector.query"}, `no field "bogus"`,
		},
		"defined twice": {
			filter("a", "query: b") + filter("a", "query: c"), []string{"error duplicate 9:18 metadata.name"}, "first at stdin:4",
		},
		"two without names": {
			filter("", "query: b") + filter("", "query: c"), []string{"error schema 4:18 metadata.name", "error schema 9:18 metadata.name"}, "name or generateName is required",
		},
		"a generated name": {
			text: "apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {generateName: ct-}\nspec: {query: a}\n" +
				"---\napiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {generateName: ct-}\nspec: {query: b}\n",
		},
		"a generated name beside the name that it would get": {
			text: "apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {generateName: ct-}\nspec: {query: a}\n---\n" +
				filter("ct-00001", "query: b") + filter("ct-00002", "query: c") +
				"---\napiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {generateName: ct-}\nspec: {query: d}\n",
		},
		"an invalid generated name": {
			"apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {generateName: CT_}\nspec: {query: 'a AND'}\n",
			[]string{"error schema 3:26 metadata.generateName", "error query 4:21 spec.query"}, "lower case",
		},
		"one tag, two generated names": {
			strings.Replace(tag("b-", "x")+tag("b-", "x"), "{name: b-}", "{generateName: b-}", 2), []string{"error claim 10:30 spec.key"}, "held by Tag shop/b-00001",
		},
		"a typed list": {text: "apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilterList\nitems:\n- metadata: {name: a}\n  spec: {query: a}\n"},
		"a missing Property": {
			object(v1alpha1.PropertyKind, "main", "displayName: Shop") + filter("a", "query: a") + filter("b", "query: a, propertyRef: {name: other}") +
				filter("c", "query: a, propertyRef: {name: main}"),
			[]string{"warning reference 10:1 spec.propertyRef.name", "warning reference 15:38 spec.propertyRef.name"}, "no Property shop/default",
		},
		"a missing filter": {
			token("a", "class: ReadOnly, filters: [wall, b]") + filter("b", "query: a"), []string{"warning reference 5:35 spec.filters[0]"}, "no ContentFilter shop/wall",
		},
		"a missing filter of a Webhook": {
			hook("a", "filterRef: {name: wall}") + filter("b", "query: a"), []string{"warning reference 5:53 spec.filterRef.name"}, "no ContentFilter shop/wall",
		},
		"references to other files":      {text: token("a", "class: ReadOnly, filters: [wall], propertyRef: {name: other}")},
		"references to other namespaces": {text: token("a", "class: ReadOnly") + strings.Replace(object(v1alpha1.PropertyKind, "main", "displayName: Shop"), "{name: main}", "{name: main, namespace: else}", 1)},
		"another kind":                   {"apiVersion: vitrine.dev/v1alpha1\nkind: Filter\n", []string{"error unknown-kind 2:7 kind"}, `no kind "Filter"`},
		"another version":                {"apiVersion: vitrine.dev/v2\nkind: Tag\n", []string{"error unknown-kind 1:13 apiVersion"}, "must be vitrine.dev/v1alpha1"},
		"no version":                     {"apiVersion: vitrine.dev\nkind: Tag\n", []string{"error unknown-kind 1:13 apiVersion"}, "must be vitrine.dev/v1alpha1"},
		"no apiVersion":                  {"kind: Tag\nmetadata: {name: a}\n", []string{"error unknown-kind 1:1 apiVersion"}, "must be vitrine.dev/v1alpha1"},
		"no kind":                        {"apiVersion: vitrine.dev/v1alpha1\nmetadata: {name: a}\n", []string{"error unknown-kind 1:1 kind"}, "required: must be one of the kinds"},
		"other kinds":                    {text: "kind: pipeline\n---\napiVersion: v1\nkind: Tag\n---\nkey: value\n"},
		"not YAML":                       {"a: [\n", []string{"error yaml 1:1 "}, "did not find expected"},
		"one tag, two manifests": {
			tag("b", "x") + tag("a", "x"), []string{"error claim 5:30 spec.key"}, "tag vibe:x is held by Tag shop/a",
		},
		"two default units":           {unit("a", "default: true") + unit("b", "default: true"), []string{"error claim 10:105 spec.default"}, "the default unit of property shop/default is held by ActivateUnit shop/a"},
		"default units, properties":   {text: unit("a", "default: true") + unit("b", "default: true, propertyRef: {name: other}")},
		"one filter adopted twice":    {filter("a", "query: a, adopt: {filterID: 7}") + filter("b", "query: a, adopt: {filterID: 7}"), []string{"error claim 10:36 spec.adopt.filterID"}, "filter 7 (created over HTTP) is held by ContentFilter shop/a"},
		"one Secret written twice":    {token("a", "class: ReadOnly") + token("b", "class: ReadOnly, secretName: a"), []string{"error claim 10:37 spec.secretName"}, "Secret shop/a is held by AccessToken shop/a"},
		"one Secret of two kinds":     {token("a-webhook", "class: ReadOnly") + hook("a", "query: a"), []string{"error claim 9:18 metadata.name"}, "Secret shop/a-webhook is held by AccessToken shop/a-webhook"},
		"a Secret of a Webhook":       {hook("a", "query: a") + token("b", "class: ReadOnly, secretName: a-webhook"), []string{"error claim 10:37 spec.secretName"}, "Secret shop/a-webhook is held by Webhook shop/a"},
		"a signing secret read twice": {text: hook("a", "query: a, existingSecret: {name: s, key: k}") + hook("b", "query: a, existingSecret: {name: s, key: k}")},
		"a READ-ONLY token without limits": {property("") + token("a", "class: ReadOnly") + token("b", "class: ReadWrite"),
			[]string{"warning unrestricted 10:15 spec.class"}, `set spec.query, or set spec.readOnlyQuery of the Property "default"`},
		"READ-ONLY tokens with limits":   {text: property("") + token("a", "class: ReadOnly, query: 'approval_status:app'") + token("b", "class: ReadOnly, filters: [f]")},
		"a scope of the Property":        {text: property(", readOnlyQuery: 'approval_status:app'") + token("a", "class: ReadOnly")},
		"an invalid scope of a token":    {token("a", "class: ReadOnly, query: 'a AND'"), []string{"error query 5:38 spec.query"}, "nothing after AND"},
		"an invalid scope of a Property": {property(", readOnlyQuery: 'a AND'") + token("a", "class: ReadOnly"), []string{"error query 5:48 spec.readOnlyQuery"}, "nothing after AND"},
		"advice about a scope":           {token("a", "class: ReadOnly, query: 'colour:red'"), []string{"warning query-unknown-field 5:33 spec.query"}, "colour"},
		"a grant for labels":             {text: property(strings.Replace(guestGrant, "names: [guests]", "matchLabels: {shows: shop}", 1)) + guest("a", "class: ReadOnly")},
		"a grant for names and labels":   {property(", allowFrom: [{namespaces: {names: [guests], matchLabels: {shows: shop}}, kinds: [Tag]}]"), []string{"error schema 5:52 spec.allowFrom[0].namespaces"}, "set names or matchLabels"},
		"a grant for a namespace":        {text: property(guestGrant) + guest("a", "class: ReadOnly")},
		"no grant for a namespace":       {property(", readOnlyQuery: a") + guest("a", "class: ReadOnly"), []string{"error grant 10:33 spec.propertyRef.namespace"}, "add namespace guests and kind AccessToken to its spec.allowFrom"},
		"no grant for the class":         {property(guestGrant) + guest("a", "class: ReadWrite"), []string{"error grant 10:33 spec.propertyRef.namespace"}, "the Property shop/default does not permit this object"},
		"a Property in another file":     {text: guest("a", "class: ReadWrite")},
		"classes of other kinds":         {property(", allowFrom: [{namespaces: {names: [guests]}, kinds: [Tag], classes: [ReadOnly]}]"), []string{"error schema 5:39 spec.allowFrom[0]"}, "classes and filters limit AccessTokens"},
		"a grant of filters to writers":  {property(", allowFrom: [{namespaces: {names: [guests]}, kinds: [AccessToken], classes: [ReadWrite], filters: [wall]}]"), []string{"error schema 5:39 spec.allowFrom[0]"}, "remove ReadWrite from classes"},
		"Export without ReadPrivate":     {token("a", "class: ReadWrite, allow: [Export]"), []string{"error schema 5:7 spec"}, "Export in allow needs ReadPrivate too"},
		"a subject of two kinds":         {token("a", "class: ReadOnly, subjects: [{user: jo}, {user: an, group: team}]"), []string{"error schema 5:48 spec.subjects[1]"}, "set either user or group"},
		"subjects and filters":           {token("a", "class: ReadOnly, filters: [wall], subjects: [{user: jo}]"), []string{"error schema 5:7 spec"}, "subjects is not permitted with filters"},
		"one value read twice":           {token("a", "class: ReadOnly, existingSecret: {name: s, key: k}") + token("b", "class: ReadOnly, existingSecret: {name: s, key: k}"), []string{"error claim 10:48 spec.existingSecret.name"}, "Secret shop/s is held by AccessToken shop/a"},
		"a value that is written":        {token("a", "class: ReadOnly") + token("b", "class: ReadOnly, existingSecret: {name: a, key: token}"), []string{"error claim 10:48 spec.existingSecret.name"}, "AccessToken shop/a writes Secret shop/a"},
		"another key of that Secret":     {text: token("a", "class: ReadOnly") + token("b", "class: ReadOnly, existingSecret: {name: a, key: mine}")},
		"suspended, a broken query":      {filter("a", "query: 'a AND', suspend: true"), []string{"warning query 5:21 spec.query"}, "the operator does not check this while spec.suspend is true"},
		"suspended, a bad schema":        {filter("a", "query: a, suspend: true, readAccess: Public"), []string{"error schema 5:45 spec.readAccess"}, "Unsupported value"},
		"two keys of one Secret":         {text: token("a", "class: ReadOnly, existingSecret: {name: s, key: k}") + token("b", "class: ReadOnly, existingSecret: {name: s, key: l}")},
		"an invalid schema and query":    {filter("a", "query: 'a AND', readAccess: Public"), []string{"error query 5:21 spec.query", "error schema 5:36 spec.readAccess"}, "Unsupported value"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := judged(t, tc.text)
			var got []string
			said := ""
			for _, f := range r.Findings {
				got = append(got, fmt.Sprintf("%s %s %d:%d %s", f.Severity, f.Rule, f.Line, f.Column, f.Member))
				said += f.Message + "\n"
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s%s", diff, said)
			}
			if !strings.Contains(said, tc.says) {
				t.Errorf("said:\n%swant %q", said, tc.says)
			}
		})
	}
}

func TestOutputs(t *testing.T) {
	r := judged(t, "apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: a}\nspec:\n\tx: 1\n")
	if r.Errors != 1 {
		t.Fatalf("report: %+v", r)
	}
	r = judged(t, object(v1alpha1.ContentFilterKind, "a", "query: '東京 AND (b OR'"))
	var out bytes.Buffer
	Text(&out, r.Findings)
	want := "stdin:5:28: error: ContentFilter shop/a: spec.query: nothing after OR at position 12, at the end: expected a clause\n" +
		"    5 | spec: {query: '東京 AND (b OR'}\n" +
		"      |                              ^\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	out.Reset()
	r.Findings[0].Message = "100 %\nsure: a, b"
	GitHub(&out, r.Findings)
	want = "::error file=stdin,line=5,col=28,title=vitrine query::ContentFilter shop/a: spec.query: 100 %25%0Asure: a, b\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	out.Reset()
	if err := JSON(&out, r); err != nil {
		t.Fatal(err)
	}
	want = `{
  "objects": 1,
  "errors": 1,
  "warnings": 0,
  "findings": [
    {
      "severity": "error",
      "rule": "query",
      "file": "stdin",
      "line": 5,
      "column": 28,
      "object": "ContentFilter shop/a",
      "member": "spec.query",
      "message": "100 %\nsure: a, b"
    }
  ]
}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestWindow(t *testing.T) {
	long := strings.Repeat("x", 300)
	line, blanks := window(long, 200)
	if line != "…"+long[:before+behind]+"…" || len([]rune(line)) < 100 || len(blanks) != before {
		t.Errorf("window of a long line: %d characters, %d blanks", len([]rune(line)), len(blanks))
	}
	if line, blanks := window("\tab", 3); line != "\tab" || blanks != "\t " {
		t.Errorf("window of a line with a tab: %q, %q", line, blanks)
	}
	if line, blanks := window("ab", 99); line != "ab" || blanks != "  " {
		t.Errorf("window after the end: %q, %q", line, blanks)
	}
}
