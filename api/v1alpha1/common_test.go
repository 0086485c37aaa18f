package v1alpha1

import (
	"strings"
	"testing"
)

// TestSourcePath checks which paths the annotation accepts: files in the repository whose paths need no escapes in a URL.
func TestSourcePath(t *testing.T) {
	for _, path := range []string{"a.yaml", "content/shop/summer-wall.yml", ".hidden/a_b.json", strings.Repeat("a", maxSourcePath-5) + ".yaml"} {
		if got, err := SourcePath(map[string]string{SourcePathAnnotation: path}); err != nil || got != path {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{
		"", "a", "a/", "/a.yaml", "../a.yaml", "a/../b.yaml", "./a.yaml", "a//b.yaml", "a.txt", "a b.yaml", "a?.yaml", "a#.yaml", "a%2f.yaml", "a\\b.yaml",
		"a.yaml\n", "https://git.example/a.yaml", strings.Repeat("a", maxSourcePath-4) + ".yaml",
	} {
		if got, err := SourcePath(map[string]string{SourcePathAnnotation: path}); err == nil || got != "" || !strings.Contains(err.Error(), SourcePathAnnotation) {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	if got, err := SourcePath(nil); err != nil || got != "" {
		t.Errorf("no annotation: %q, %v", got, err)
	}
}
