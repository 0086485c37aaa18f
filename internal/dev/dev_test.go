package dev

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
)

const (
	property = `
apiVersion: vitrine.dev/v1alpha1
kind: Property
metadata: {name: default}
spec: {displayName: Shop}
`
	filter = `
apiVersion: vitrine.dev/v1alpha1
kind: ContentFilter
metadata: {name: wall}
spec: {query: QUERY}
`
	token = `
apiVersion: vitrine.dev/v1alpha1
kind: AccessToken
metadata: {name: screen}
spec: {class: ReadOnly, filters: [wall]}
`
)

// empty is an argument of write for an empty file, because "" deletes the file.
const empty = "empty"

const shop = library.PropertyID("shop/default")

// world is a folder with manifests, and the library to which they are applied.
type world struct {
	t   *testing.T
	dir string
	lib library.Library
	*Folder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.open(t.TempDir())
	return w
}

// open opens the library in a directory.
func (w *world) open(data string) {
	w.t.Helper()
	lib, err := reference.Open(reference.Options{Dir: data})
	if err != nil {
		w.t.Fatal(err)
	}
	w.lib = lib
	w.t.Cleanup(func() {
		if err := lib.Close(); err != nil {
			w.t.Error(err)
		}
	})
	w.Folder = New(Options{Library: lib, Paths: []string{w.dir}, Namespace: "shop"})
}

// write writes text to a file. If text is "", it deletes the file.
func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	var err error
	switch text {
	case "":
		err = os.Remove(path)
	case empty:
		err = os.WriteFile(path, nil, 0o600)
	default:
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// load loads the manifests.
func (w *world) load() Load {
	w.t.Helper()
	l := w.Load(w.t.Context())
	if l.Failed != nil {
		w.t.Fatal(l.Failed)
	}
	return l
}

// wall returns the query of the filter wall, or "" if the library does not serve this filter.
func (w *world) wall() string {
	uuid, _ := library.FilterIDs(shop, library.KindFilter, "shop", "wall")
	f, err := w.lib.Filter(shop, library.FilterRef{UUID: uuid})
	if err != nil {
		return ""
	}
	return f.Query
}

// large is a text that is larger than the maximum size of a manifest.
var large = strings.Repeat("#", 33<<20)

func with(query string) string { return strings.Replace(filter, "QUERY", query, 1) }

// TestGeneratedNames checks that an object without a name has the same name at each load, and that the members of a list are served.
func TestGeneratedNames(t *testing.T) {
	w := newWorld(t)
	w.write("property.yaml", property)
	generated := strings.Replace(with("text:sun"), "name: wall", "generateName: wall-", 1)
	w.write("filters.yaml", generated+"---"+generated)
	w.write("list.json", `{"apiVersion": "vitrine.dev/v1alpha1", "kind": "ContentFilterList", "items": [{"metadata": {"name": "wall"}, "spec": {"query": "text:sea"}}]}`)
	if l := w.load(); len(l.Applied) != 4 || l.Errors != 0 || w.wall() != "text:sea" {
		t.Errorf("load %+v, the filter in the list is %q", l, w.wall())
	}
	for _, name := range []string{"wall-00001", "wall-00002"} {
		uuid, _ := library.FilterIDs(shop, library.KindFilter, "shop", name)
		if f, err := w.lib.Filter(shop, library.FilterRef{UUID: uuid}); err != nil || f.Query != "text:sun" {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	if l := w.load(); len(l.Applied) != 0 || l.Removed != 0 {
		t.Errorf("a second load changes something: %+v", l)
	}
}

// TestLoad checks which definitions are served after each change of the manifests.
func TestLoad(t *testing.T) {
	w := newWorld(t)
	w.write("property.yaml", property)
	w.write("filter.yaml", with("text:sun"))
	w.write("token.yaml", token)
	for _, step := range []struct {
		name           string
		file, text     string
		wall           string
		applied, gone  int
		errors         []string
		kept           []string
		tokenLacksWall bool
	}{
		{name: "first", wall: "text:sun", applied: 3},
		{name: "nothing changed", wall: "text:sun"},
		{name: "changed", file: "filter.yaml", text: with("text:sea"), wall: "text:sea", applied: 1},
		{
			name: "invalid query", file: "filter.yaml", text: with("'text:('"), wall: "text:sea",
			errors: []string{"spec.query"}, kept: []string{"ContentFilter shop/wall"},
		},
		{
			name: "not YAML", file: "filter.yaml", text: "{", wall: "text:sea",
			errors: []string{""}, kept: []string{"ContentFilter shop/wall"},
		},
		{name: "a large file of something else", file: "data.json", text: large, wall: "text:sea", errors: []string{"", ""}, kept: []string{"ContentFilter shop/wall"}},
		{name: "changed beside it", file: "filter.yaml", text: with("text:lake"), wall: "text:lake", applied: 1, errors: []string{""}},
		{name: "too large itself", file: "filter.yaml", text: large, wall: "text:lake", errors: []string{"", ""}, kept: []string{"ContentFilter shop/wall"}},
		{name: "the large file is deleted", file: "data.json", text: "", wall: "text:lake", errors: []string{""}, kept: []string{"ContentFilter shop/wall"}},
		{name: "changed again", file: "filter.yaml", text: with("text:sea"), wall: "text:sea", applied: 1},
		{
			name: "an unknown kind", file: "filter.yaml", text: strings.Replace(with("text:sea"), "ContentFilter", "ContentFilters", 1), wall: "text:sea",
			errors: []string{"kind"}, kept: []string{"ContentFilter shop/wall"},
		},
		{name: "an empty file", file: "filter.yaml", text: empty, wall: "text:sea", kept: []string{"ContentFilter shop/wall"}},
		{name: "repaired", file: "filter.yaml", text: with("text:sand"), wall: "text:sand", applied: 1},
		{
			name: "suspended", file: "filter.yaml", text: strings.Replace(with("text:rain"), "spec: {", "spec: {suspend: true, ", 1), wall: "text:sand",
			kept: []string{"ContentFilter shop/wall"},
		},
		{name: "deleted", file: "filter.yaml", text: "", wall: "", gone: 1},
		{
			name: "a second object with the name", file: "twice.yaml", text: with("text:one") + "---" + with("text:two"), wall: "text:one",
			applied: 1, errors: []string{"metadata.name"},
		},
		{
			name: "the Property is invalid", file: "property.yaml", text: strings.Replace(property, "displayName", "surprise", 1), wall: "text:one",
			errors: []string{"metadata.name", "spec.displayName", "spec.surprise"}, kept: []string{"Property shop/default"},
		},
		{
			name: "the Property is deleted", file: "property.yaml", text: "", wall: "", gone: 1,
			errors: []string{"metadata.name", ""}, kept: []string{"AccessToken shop/screen", "ContentFilter shop/wall"},
		},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.file != "" {
				w.write(step.file, step.text)
			}
			l := w.load()
			if got := w.wall(); got != step.wall {
				t.Errorf("the filter is %q, want %q", got, step.wall)
			}
			if len(l.Applied) != step.applied || l.Removed != step.gone {
				t.Errorf("%d applied, %d removed; want %d, %d", len(l.Applied), l.Removed, step.applied, step.gone)
			}
			var errors []string
			for _, f := range l.Findings {
				if f.Severity == "error" {
					errors = append(errors, f.Member)
				}
			}
			slices.Sort(errors)
			slices.Sort(step.errors)
			if diff := cmp.Diff(step.errors, errors); diff != "" {
				t.Errorf("members with errors (-want +got):\n%s\n%v", diff, l.Findings)
			}
			if diff := cmp.Diff(step.kept, l.Kept); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTokens checks the values of tokens, and that a token still allows a filter in its spec.filters after the filter's query became
// invalid.
func TestTokens(t *testing.T) {
	w := newWorld(t)
	w.write("all.yaml", property+"---"+token)
	w.write("filter.yaml", with("text:sun"))
	w.load()
	w.write("filter.yaml", with("'('"))
	w.load()
	uuid, _ := library.FilterIDs(shop, library.KindFilter, "shop", "wall")
	got := map[library.Digest]*library.Token{}
	for event, err := range w.lib.Tokens(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Synced {
			break
		}
		for _, v := range event.Token.Values {
			got[v.Digest] = event.Token
		}
	}
	if own := got[sha256.Sum256([]byte(w.Token(shop)))]; own == nil || !own.ReadWrite || own.Filters != nil {
		t.Errorf("the token of the Property: %+v", own)
	}
	if screen := got[sha256.Sum256([]byte(w.Tokens()[library.Owner{Install: Install, Kind: library.KindToken, Namespace: "shop", Name: "screen"}]))]; screen == nil || screen.ReadWrite || !slices.Equal(screen.Filters, []string{uuid}) {
		t.Errorf("the AccessToken: %+v", screen)
	}
}

// TestRestart checks that a library still serves the last valid version and the same tokens after a restart, and that it loses the
// definitions whose manifests were deleted in the meantime.
func TestRestart(t *testing.T) {
	w := &world{t: t, dir: t.TempDir()}
	data := t.TempDir()
	w.open(data)
	w.write("property.yaml", property)
	w.write("filter.yaml", with("text:sun"))
	w.write("token.yaml", token)
	w.load()
	before := w.Token(shop)
	if err := w.lib.Close(); err != nil {
		t.Fatal(err)
	}
	w.write("filter.yaml", with("'('"))
	w.write("token.yaml", "")
	w.open(data)
	if l := w.load(); l.Removed != 1 || w.wall() != "text:sun" || w.Token(shop) != before {
		t.Errorf("%+v, filter %q", l, w.wall())
	}
}

// TestRun checks that Run loads once, and again after each change.
func TestRun(t *testing.T) {
	w := newWorld(t)
	loads := make(chan Load)
	f := New(Options{Library: w.lib, Paths: []string{w.dir}, Namespace: "shop", Interval: time.Millisecond, Report: func(ctx context.Context, l Load) error {
		select {
		case loads <- l:
		case <-ctx.Done():
		}
		return nil
	}})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	if l := <-loads; len(l.Applied) != 0 || !f.Loaded() {
		t.Errorf("the empty folder: %+v", l)
	}
	w.write("property.yaml", property)
	if l := <-loads; len(l.Applied) != 1 {
		t.Errorf("first: %+v", l)
	}
	w.write("filter.yaml", with("text:sun"))
	if l := <-loads; len(l.Applied) != 1 {
		t.Errorf("second: %+v", l)
	}
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	for l := range loads { // a check can happen between the deletions of two files
		if l.Failed != nil {
			break
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestClaim checks that Claim rejects a library of a cluster, and that an operator can recognize a library of this package.
func TestClaim(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		if err := w.Claim(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if mark, err := w.lib.Mark(markInstall); err != nil || mark != Install {
		t.Errorf("mark %q, %v", mark, err)
	}
	if err := w.lib.SetMark(t.Context(), markInstall, "a cluster"); err != nil {
		t.Fatal(err)
	}
	if err := w.Claim(t.Context()); err == nil || !strings.Contains(err.Error(), "a cluster") {
		t.Errorf("%v, want an error that names the cluster", err)
	}
}
