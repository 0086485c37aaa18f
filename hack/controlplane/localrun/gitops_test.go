package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPage holds that docs/gitops.md shows everything that the walk applies, and nothing twice.
func TestPage(t *testing.T) {
	p, err := readPage(filepath.Join("..", "..", "..", "docs", "gitops.md"))
	if err != nil {
		t.Fatal(err)
	}
	const url = "https://git.example/shop/content.git"
	for _, m := range [][]string{
		{"Namespace", "shop"},
		{"ServiceAccount", "shop-content"},
		{"RoleBinding", "shop-content"},
		{"GitRepository", "vitrine"},
		{"GitRepository", "shop"},
		{"Kustomization", "vitrine", "path: ./config/default", "path: ./config/crd"},
		{"Kustomization", "shop-content"},
		{"ConfigMap", "argocd-cm"},
		{"AppProject", "shop", url, "file:///content"},
		{"Application", "shop-content", url, "file:///content"},
	} {
		text, err := p.manifest(m[0], m[1], m[2:]...)
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.Count("\n"+text, "\nkind: ") != 1 || len(m) > 2 && (strings.Contains(text, m[2]) || !strings.Contains(text, m[3])) {
			t.Errorf("%s %s:\n%s", m[0], m[1], text)
		}
	}
	if _, err := p.manifest("Kustomization", "shop-content", "path: ./nowhere", ""); err == nil {
		t.Error("a text that is not there is replaced")
	}
	if _, err := p.manifest("Kustomization", "shop"); err == nil {
		t.Error("a manifest that is not there is found")
	}
	if _, ok := p.line(whyPrefix); !ok {
		t.Errorf("no command begins with %q", whyPrefix)
	}
}

func TestStatusWrites(t *testing.T) {
	const metrics = `# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",group="vitrine.dev",resource="contentfilters",scope="resource",subresource="",verb="PATCH"} 500
apiserver_request_total{code="200",component="apiserver",group="vitrine.dev",resource="contentfilters",scope="resource",subresource="status",verb="PATCH"} 930
apiserver_request_total{code="409",component="apiserver",group="vitrine.dev",resource="contentfilters",scope="resource",subresource="status",verb="PUT"} 2
apiserver_request_total{code="200",component="apiserver",group="vitrine.dev",resource="contentfilters",scope="resource",subresource="status",verb="GET"} 7
apiserver_request_total{code="200",component="apiserver",group="vitrine.dev",resource="properties",scope="resource",subresource="status",verb="PATCH"} 1
`
	if got, err := statusWrites(metrics); err != nil || got != 932 {
		t.Errorf("statusWrites = %d, %v, want 932", got, err)
	}
}

func TestLoadSince(t *testing.T) {
	before := load{writes: 3, warnings: map[string]int{"A": 2, "B": 1}}
	after := load{writes: 10, warnings: map[string]int{"A": 5, "B": 1, "C": 4}}
	got := after.since(before)
	if got.writes != 7 || got.count() != 7 || got.warnings["A"] != 3 || got.warnings["C"] != 4 || len(got.warnings) != 2 {
		t.Errorf("since = %+v", got)
	}
}

func TestRepositoryArchive(t *testing.T) {
	r, err := newRepository(t.Context(), filepath.Join(t.TempDir(), "content"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.commit(t.Context(), "two", map[string]string{"content/a.yaml": "a\n", "content/b.yaml": "b\n"}); err != nil {
		t.Fatal(err)
	}
	first, err := r.head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.commit(t.Context(), "one", map[string]string{"content/a.yaml": "", "content/b.yaml": "changed\n"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "archive.tar.gz")
	if err := r.archive(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for entries := tar.NewReader(unzipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, entry.Name)
	}
	if !slices.Equal(names, []string{"content/", "content/b.yaml"}) {
		t.Errorf("the archive holds %v", names)
	}
	if second, err := r.head(t.Context()); err != nil || second == first {
		t.Errorf("the second commit is %s, %v", second, err)
	}
}
