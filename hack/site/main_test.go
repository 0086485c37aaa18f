package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocs checks that the site of the repository can be built: each page must have a place in the navigation, and all links and anchors
// must exist.
func TestDocs(t *testing.T) {
	to := t.TempDir()
	n, err := build("../../docs", to)
	if err != nil {
		t.Fatal(err)
	}
	if n < 20 {
		t.Errorf("found only %d pages: check how the pages are read", n)
	}
	text, err := os.ReadFile(filepath.Join(to, "reference", "api.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>API reference: the five kinds · Vitrine</title>", `<a href="../reference/api.html" aria-current="page">Kinds</a>`,
		`<a href="../kinds.html">The five kinds</a>`, `<h2 id="contentfilter">ContentFilter</h2>`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("reference/api.html lacks %s", want)
		}
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name, page, want string
	}{
		{"no problem", "[home](README.md#start), [itself](#a--b), [code](../go.mod)", ""},
		{"missing page", "[x](nothing.md)", "page.md: the link nothing.md points to a page that does not exist"},
		{"missing heading", "[x](README.md#nothing)", "page.md: the link README.md#nothing points to a heading that does not exist"},
		{"missing own heading", "[x](#nothing)", "page.md: the link #nothing points to a heading that does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, map[string]string{index: "# Home\n\n## Start\n\n- [Page](page.md): it\n", "page.md": "# Page\n\n## A & `b`\n\n" + c.page + "\n"}, c.want)
		})
	}
	t.Run("not in the navigation", func(t *testing.T) {
		check(t, map[string]string{index: "# Home\n", "page.md": "# Page\n"}, "README.md links to page.md 0 times")
	})
	t.Run("twice in the navigation", func(t *testing.T) {
		check(t, map[string]string{index: "# Home\n\n- [Page](page.md), [again](page.md)\n", "page.md": "# Page\n"}, "README.md links to page.md 2 times")
	})
	t.Run("a directory with an index", func(t *testing.T) {
		check(t, map[string]string{index: "# Home\n\n- [All](sub/README.md)\n", "sub/README.md": "# Sub\n\n[1](1.md)\n", "sub/1.md": "# One\n"}, "")
	})
}

// check builds a site of pages, and expects an error that contains want, or no error if want is "".
func check(t *testing.T, pages map[string]string, want string) {
	t.Helper()
	docs := t.TempDir()
	for name, text := range pages {
		file := filepath.Join(docs, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := build(docs, filepath.Join(t.TempDir(), "site"))
	switch {
	case err == nil && want != "":
		t.Errorf("no error, want %s", want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want %s", err, want)
	}
}
