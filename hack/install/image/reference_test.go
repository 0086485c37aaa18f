package image

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a1", 32)
	for text, want := range map[string]Reference{
		"vitrine:v1":                        {Repository: "vitrine", Tag: "v1"},
		"registry.example:5000/a/vitrine:2": {Repository: "registry.example:5000/a/vitrine", Tag: "2"},
		"registry.example:5000/v@" + digest: {Repository: "registry.example:5000/v", Digest: digest},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if got.String() != text {
			t.Errorf("%s came back as %s", text, got)
		}
	}
	for _, text := range []string{"", "vitrine", ":v1", "vitrine:", "registry.example:5000/vitrine", "vitrine@sha256:ab", "@" + digest} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q was taken as %+v", text, got)
		}
	}
}
