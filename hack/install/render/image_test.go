package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/vitrine-dev/vitrine/hack/install/render"
)

func TestImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a1", 32)
	for text, want := range map[string]types.Image{
		"vitrine:v1":                        {Name: "vitrine", NewName: "vitrine", NewTag: "v1"},
		"registry.example:5000/a/vitrine:2": {Name: "vitrine", NewName: "registry.example:5000/a/vitrine", NewTag: "2"},
		"registry.example:5000/v@" + digest: {Name: "vitrine", NewName: "registry.example:5000/v", Digest: digest},
	} {
		got, err := render.Image(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"", "vitrine", ":v1", "vitrine:", "registry.example:5000/vitrine", "vitrine@sha256:ab", "@" + digest} {
		if got, err := render.Image(text); err == nil {
			t.Errorf("%q was parsed as %+v, want an error", text, got)
		}
	}
}
