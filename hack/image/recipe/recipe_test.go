package recipe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	const file = `# a comment
FROM scratch
ARG TARGETARCH
ARG VERSION=none
COPY dist/files/ /
COPY --chown=65532:65531 dist/data /var/lib/vitrine
COPY dist/${TARGETARCH}/vitrine /vitrine
USER 65532:65532
ENV PATH=/
EXPOSE 8443 9090
VOLUME /var/lib/vitrine
LABEL org.opencontainers.image.version=${VERSION}
LABEL org.opencontainers.image.title="Vitrine"
ENTRYPOINT ["/vitrine"]
CMD ["serve"]
`
	got, err := Read(strings.NewReader(file), map[string]string{"TARGETARCH": "arm64"})
	if err != nil {
		t.Fatal(err)
	}
	want := &Recipe{
		Copies: []Copy{
			{From: "dist/files/", To: "/", Line: "COPY dist/files/ /"},
			{From: "dist/data", To: "/var/lib/vitrine", UID: 65532, GID: 65531, Line: "COPY --chown=65532:65531 dist/data /var/lib/vitrine"},
			{From: "dist/arm64/vitrine", To: "/vitrine", Line: "COPY dist/arm64/vitrine /vitrine"},
		},
		Config: Config{
			User: "65532:65532", Env: []string{"PATH=/"}, Entrypoint: []string{"/vitrine"}, Cmd: []string{"serve"},
			ExposedPorts: map[string]struct{}{"8443/tcp": {}, "9090/tcp": {}},
			Volumes:      map[string]struct{}{"/var/lib/vitrine": {}},
			Labels:       map[string]string{"org.opencontainers.image.version": "none", "org.opencontainers.image.title": "Vitrine"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReadRefuses holds that what cannot be carried out without an engine is no silent difference from one.
func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, says string }{
		"nothing":                   {"# nothing\n", "no FROM"},
		"a base image":              {"FROM golang:1.26\n", "scratch"},
		"a second stage":            {"FROM scratch\nFROM scratch\n", "one FROM"},
		"something before FROM":     {"ARG A\nFROM scratch\n", "FROM scratch first"},
		"a command to run":          {"FROM scratch\nRUN true\n", "RUN"},
		"an undeclared variable":    {"FROM scratch\nCOPY ${ARCH}/a /a\n", "ARCH"},
		"an owner by name":          {"FROM scratch\nCOPY --chown=vitrine a /a\n", "two numbers"},
		"another stage's files":     {"FROM scratch\nCOPY --from=build /a /a\n", "want COPY"},
		"a relative target":         {"FROM scratch\nCOPY a a\n", "absolute"},
		"a command without bracket": {"FROM scratch\nCMD serve\n", "line 2"},
		"a port that is none":       {"FROM scratch\nEXPOSE https\n", "https"},
		"a label without a value":   {"FROM scratch\nLABEL a\n", "label=value"},
		"a variable without value":  {"FROM scratch\nENV PATH\n", "NAME=value"},
	} {
		if _, err := Read(strings.NewReader(c.file), nil); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: want an error that says %q, got %v", name, c.says, err)
		}
	}
}
