package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
)

// importContent makes the sample content and imports it, unless a run before has: it is the same every time.
func (s *stack) importContent(ctx context.Context) error {
	file := filepath.Join(s.state, "samples.ndjson")
	if err := assets.Go(ctx, s.assets(), s.root, "making sample content", "run", "./hack/samplegen", "-output", file); err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the sample content: %w", err)
	}
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	items := int64(bytes.Count(content, []byte("\n")))

	// The mark says what was imported, the server whether it still has it: the data may have been removed since.
	mark := filepath.Join(s.state, "imported")
	reader, err := s.caller(readOnly)
	if err != nil {
		return err
	}
	stored, err := reader.items(ctx, "*:*")
	if err != nil {
		return fmt.Errorf("count the items of the server: %w", err)
	}
	if before, err := os.ReadFile(mark); err == nil && strings.TrimSpace(string(before)) == digest && stored.Total >= items {
		s.say("%d items are there", stored.Total)
		return nil
	}
	s.say("importing %d items…", items)
	// From its beginning: what an interrupted run left behind is no reason to skip lines of data that may be new.
	cmd := exec.CommandContext(ctx, s.binary, "import", "--on-conflict=replace", "--restart", file)
	cmd.Env = append(os.Environ(), "VITRINE_SERVER="+s.server.url, "VITRINE_TOKEN="+s.tokens[readWrite].value, "VITRINE_CA_FILE="+s.authority())
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("import the sample content: %w\n%s", err, output)
	}
	return writePrivate(mark, digest+"\n")
}
