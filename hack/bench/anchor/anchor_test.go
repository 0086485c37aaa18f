package anchor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

func TestAgree(t *testing.T) {
	for name, tc := range map[string]struct {
		query         string
		newestFirst   bool
		constantFuzzy bool
		totals        int64
		ids           []int64
		want          string
	}{
		"equal":                          {query: "text:sun", totals: 9, ids: []int64{1, 2}},
		"another total":                  {query: "text:sun", totals: 8, ids: []int64{1, 2}, want: "totals of 9 and 8 items"},
		"a shorter page":                 {query: "text:sun", totals: 9, ids: []int64{1}, want: "pages of 2 and 1 items"},
		"another order":                  {query: "text:sun", totals: 9, ids: []int64{2, 1}, want: "at position 1, the items 1 and 2"},
		"another order, constant":        {query: "text:sun", constantFuzzy: true, totals: 9, ids: []int64{2, 1}, want: "at position 1"},
		"fuzzy":                          {query: "text:(sea AND sun~1)", totals: 9, ids: []int64{1, 3}, want: "at position 2"},
		"fuzzy, constant":                {query: "text:(sea AND sun~1)", constantFuzzy: true, totals: 9, ids: []int64{1, 3}},
		"fuzzy, constant, by date":       {query: "text:sun~1", newestFirst: true, constantFuzzy: true, totals: 9, ids: []int64{1, 3}, want: "at position 2"},
		"fuzzy, constant, another total": {query: "text:sun~1", constantFuzzy: true, totals: 8, ids: []int64{1, 3}, want: "totals"},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := NewQuery(tc.query, 2, tc.newestFirst)
			if err != nil {
				t.Fatal(err)
			}
			l := &Library{constantFuzzy: tc.constantFuzzy}
			err = l.Agree([]Query{q}, Answer{Totals: []int64{9}, IDs: [][]int64{{1, 2}}}, Answer{Totals: []int64{tc.totals}, IDs: [][]int64{tc.ids}})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v; want %q", err, tc.want)
			}
		})
	}
}

// TestBuildTantivy builds with scripts instead of cargo, so it compiles nothing.
func TestBuildTantivy(t *testing.T) {
	for name, tc := range map[string]struct {
		cargo string // the script, or "" for no cargo
		want  string // part of the reason, or "" if the build succeeds
	}{
		"no cargo": {"", "cargo, which compiles"},
		"a failure": {
			"#!/bin/sh\necho 'warning: the network is slow' >&2\necho 'error: no network' >&2\nexit 101\n", "(exit status 101): error: no network",
		},
		"success": {"#!/bin/sh\ncat Cargo.toml Cargo.lock src/main.rs >/dev/null && mkdir -p \"$6/release\" && echo \"$*\" >\"$6/release/anchor\"\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cache, bin := t.TempDir(), t.TempDir()
			t.Setenv("XDG_CACHE_HOME", cache)
			if tc.cargo == "" {
				t.Setenv("PATH", bin)
			} else {
				t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
				if err := os.WriteFile(filepath.Join(bin, "cargo"), []byte(tc.cargo), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			program, err := buildTantivy(t.Context())
			if absent, ok := errors.AsType[*AbsentError](err); tc.want != "" && (!ok || !strings.Contains(absent.Reason, tc.want)) {
				t.Fatalf("%v; want %q", err, tc.want)
			}
			if tc.want != "" {
				return
			}
			text, readErr := os.ReadFile(program)
			if err := errors.Join(err, readErr); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "build --release --locked --quiet --target-dir "+cache) {
				t.Errorf("cargo ran with %q", text)
			}
			t.Setenv("PATH", "") // the second build does not need cargo
			if again, err := buildTantivy(t.Context()); err != nil || again != program {
				t.Errorf("%s, %v; want %s", again, err, program)
			}
			if left, err := filepath.Glob(filepath.Join(cache, "vitrine/tantivy/.source-*")); err != nil || len(left) > 0 {
				t.Errorf("the build leaves %q: %v", left, err)
			}
		})
	}
}

func TestTantivyVersion(t *testing.T) {
	if v, err := lockedTantivy(); err != nil || !strings.HasPrefix(v, "0.") {
		t.Errorf("%q, %v", v, err)
	}
}

// TestIndexedFields checks that all libraries index every field of the sample items.
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
				t.Fatalf("item %d has the field %s of type %s, Lucene and Tantivy index %+v", i, f.Name, f.Type, got)
			}
		}
	}
}
