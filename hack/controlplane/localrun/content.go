package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
)

// importContent generates the sample content and imports it, unless an earlier run has imported the same content into the same data
// directory.
func (s *stack) importContent(ctx context.Context) error {
	file := filepath.Join(s.state, "samples.ndjson")
	if err := assets.Go(ctx, s.assets(), s.root, "generating the sample content", "run", "./hack/samplegen", "-output", file); err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the sample content: %w", err)
	}
	mark, digest := filepath.Join(s.state, "imported"), fmt.Sprintf("%x\n", sha256.Sum256(content))
	if before, err := os.ReadFile(mark); err == nil && string(before) == digest && !s.fresh {
		s.say("the sample content is already imported")
		return nil
	}
	s.say("importing the sample content…")
	// Import from the first line, because the recorded position of an interrupted import may belong to another data directory.
	cmd := exec.CommandContext(ctx, s.binary(), "import", "--on-conflict=replace", "--restart", file)
	cmd.Env = append(os.Environ(), "VITRINE_SERVER="+s.url, "VITRINE_TOKEN="+s.tokens[readWrite].value, "VITRINE_CA_FILE="+s.authority())
	if text, messages, err := output(ctx, cmd); err != nil {
		return fmt.Errorf("import the sample content: %w\n%s%s", err, text, messages)
	}
	return writePrivate(mark, digest)
}
