package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// latest is the schema of new indices.
var latest = All()[All().Latest()-1]

// BenchmarkDocument builds the documents of an import of 1,000 items.
func BenchmarkDocument(b *testing.B) {
	corpus := sample.NewLibrary()
	items := make([]*item.Item, 1000)
	for i := range items {
		var err error
		if items[i], err = item.Unmarshal(bytes.TrimSpace(corpus.Item(i))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	var body []byte
	for b.Loop() {
		body = body[:0]
		for _, it := range items {
			body = latest.Document(body, it, item.Marshal(it, nil), Trace{Token: "token"})
		}
	}
}

// TestDocument checks that documents are valid JSON without duplicate members, and that they contain all values of their items.
func TestDocument(t *testing.T) {
	t.Parallel()
	corpus := sample.NewLibrary()
	items := []*item.Item{
		{ID: 1, Content: item.Content{Text: "a\"b\\c\n\u2028<>&\x00é東"}},
		{ID: 2, Units: []int64{7, 5}, ShortCode: "code", Tags: []item.Tag{{Namespace: "vibe", Key: "Bold"}, {Namespace: "vibe", Key: "calm"}}},
		{ID: 3, Content: item.Content{Geo: &item.Geo{Latitude: -1e-7, Longitude: 1.5e21}}},
	}
	for i := range 100 {
		it, err := item.Unmarshal(bytes.TrimSpace(corpus.Item(i)))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	for _, it := range items {
		line := item.Marshal(it, nil)
		text := latest.Document(nil, it, line, Trace{Token: "token"})
		var got map[string]any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want := map[string]any{FieldItem: string(line), FieldWrite: "token"}
		list := func(name, text string) {
			of, _ := want[name].([]any)
			if name != FieldPresent || !slices.Contains(of, any(text)) {
				want[name] = append(of, text)
			}
		}
		for f, v := range it.Values(nil, nil, it.Tags) {
			list(FieldPresent, f.Name)
			switch {
			case query.IsSubmissionField(f.Name):
				list(FieldSubmission, dynamicTerm(f.Name, v.Str))
			case query.Dynamic(f.Name):
				list(FieldDynamic, dynamicTerm(f.Name, v.Str))
			case f.Name == query.AllField:
				list(fieldAll, v.Str)
			case f.Type == query.Text:
				want[f.Name] = v.Str
			case f.Type == query.Keyword:
				want[f.Name] = analysis.Keyword(v.Str)
			case f.Type == query.Boolean:
				want[f.Name] = v.Int != 0
			case f.Type == query.Double:
				want[f.Name] = json.Number(strconv.FormatFloat(v.Float, 'g', -1, 64))
			default:
				want[f.Name] = json.Number(strconv.FormatInt(v.Int, 10))
			}
		}
		if it.ShortCode != "" {
			want[FieldCode] = it.ShortCode
		}
		for i, id := range it.Units {
			list(FieldUnits, strconv.FormatInt(id, 10))
			order, _ := want[FieldUnitOrder].(string)
			if i > 0 {
				order += " "
			}
			want[FieldUnitOrder] = order + strconv.FormatInt(id, 10)
		}
		sorted := cmpopts.SortSlices(func(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
		if diff := cmp.Diff(want, got, sorted); diff != "" {
			t.Errorf("item %d: %s", it.ID, diff)
		}
		for name := range got {
			if member := fmt.Appendf(nil, `,%q:`, name); bytes.Count(text, member) > 1 {
				t.Errorf("%s: several members %s", text, name)
			}
		}
	}
}
