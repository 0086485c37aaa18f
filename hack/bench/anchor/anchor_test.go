package anchor

import (
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

func TestAgree(t *testing.T) {
	for name, tc := range map[string]struct {
		total int64
		ids   []int64
		want  string
	}{
		"equal":          {9, []int64{1, 2}, ""},
		"another total":  {8, []int64{1, 2}, "totals of 9 and 8 items"},
		"a shorter page": {9, []int64{1}, "the pages [1 2] and [1]"},
		"another order":  {9, []int64{2, 1}, "the pages [1 2] and [2 1]"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Agree([]Query{NewQuery(t, "text:sun", 2, false)}, Answer{Totals: []int64{9}, IDs: [][]int64{{1, 2}}}, Answer{Totals: []int64{tc.total}, IDs: [][]int64{tc.ids}})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v; want %q", err, tc.want)
			}
		})
	}
}

// TestIndexedFields checks that both libraries index every field of the sample items.
func TestIndexedFields(t *testing.T) {
	known := map[string]Field{query.AllField: {}}
	for _, f := range indexedFields() {
		known[f.Name] = f
	}
	items := sample.NewLibrary()
	for i := range 500 {
		line, err := item.ParseLine(items.Item(i), item.ParseOptions{AuthorKey: []byte("key")})
		if err != nil {
			t.Fatal(err)
		}
		for f := range line.Item.Values(nil, nil, line.Item.Tags) {
			if got, ok := known[f.Name]; !strings.HasPrefix(f.Name, "content.platform_ref:") && (!ok || got.Name != "" && got.Type != f.Type.String()) {
				t.Fatalf("item %d has the field %s of type %s, Lucene indexes %+v", i, f.Name, f.Type, got)
			}
		}
	}
}
