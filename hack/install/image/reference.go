// Package image reads the names of container images.
//
// It imports nothing but the standard library.
package image

import (
	"fmt"
	"strings"
)

// Reference names an image: a repository, and a tag or a digest in it.
type Reference struct {
	Repository string
	// Tag is empty when Digest is not.
	Tag string
	// Digest is "sha256:" and 64 hexadecimal digits.
	Digest string
}

// Parse takes a reference such as "registry.example:5000/vitrine:v1" or "vitrine@sha256:…" apart. One without a tag and a
// digest is refused: what it means changes with time.
func Parse(text string) (Reference, error) {
	if repository, digest, found := strings.Cut(text, "@"); found {
		if repository == "" || !strings.HasPrefix(digest, "sha256:") || len(digest) != len("sha256:")+64 {
			return Reference{}, fmt.Errorf("image %q: want repository@sha256:… with 64 digits", text)
		}
		return Reference{Repository: repository, Digest: digest}, nil
	}
	at := strings.LastIndexByte(text, ':')
	if at <= 0 || at == len(text)-1 || strings.Contains(text[at:], "/") { // a colon before a slash is that of a port
		return Reference{}, fmt.Errorf("image %q: want repository:tag or repository@sha256:…", text)
	}
	return Reference{Repository: text[:at], Tag: text[at+1:]}, nil
}

// String gives the reference as Parse takes it.
func (r Reference) String() string {
	if r.Digest != "" {
		return r.Repository + "@" + r.Digest
	}
	return r.Repository + ":" + r.Tag
}
