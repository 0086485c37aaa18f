package anchor

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
)

// tantivyFiles is the source of the program that runs Tantivy.
//
//go:embed tantivy/Cargo.toml tantivy/Cargo.lock tantivy/src
var tantivyFiles embed.FS

// tantivyVersion matches the version of Tantivy in Cargo.lock.
var tantivyVersion = regexp.MustCompile(`(?m)^name = "tantivy"\nversion = "(.+)"$`)

// StartTantivy starts Tantivy with an empty index. It compiles the program that runs Tantivy unless it has been compiled before. This takes
// minutes if the cache directory of the user does not contain the compiled libraries. StartTantivy fails with *AbsentError if cargo is not
// installed or cannot compile the program. dir must exist.
func StartTantivy(ctx context.Context, dir string) (*Library, error) {
	program, err := buildTantivy(ctx)
	if err != nil {
		return nil, err
	}
	l := &Library{dir: filepath.Join(dir, "tantivy"), constantFuzzy: true}
	if l.Version, err = lockedTantivy(); err != nil {
		return nil, err
	}
	l.Server, err = child.Serve(child.Spec{Name: "Tantivy", Path: program, Args: []string{l.dir, fieldsArgument()}, Output: l.dir + ".log"})
	return l, err
}

// lockedTantivy returns the version of Tantivy in Cargo.lock.
func lockedTantivy() (string, error) {
	text, err := tantivyFiles.ReadFile("tantivy/Cargo.lock")
	if err != nil {
		return "", fmt.Errorf("find the version of Tantivy: %w", err)
	}
	m := tantivyVersion.FindSubmatch(text)
	if m == nil {
		return "", errors.New("find the version of Tantivy: Cargo.lock has none")
	}
	return string(m[1]), nil
}

// TantivyProgram returns the path of the compiled program that runs Tantivy. The file exists only after StartTantivy has compiled this
// version of the program.
func TantivyProgram() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the program that runs Tantivy: %w", err)
	}
	h := sha256.New()
	err = fs.WalkDir(tantivyFiles, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := tantivyFiles.ReadFile(path)
		_, _ = h.Write(text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("find the program that runs Tantivy: %w", err)
	}
	return filepath.Join(cache, "vitrine", "tantivy", "anchor-"+hex.EncodeToString(h.Sum(nil)[:8])), nil
}

// buildTantivy compiles the program that runs Tantivy unless it has been compiled before, and returns its path.
func buildTantivy(ctx context.Context) (string, error) {
	program, err := TantivyProgram()
	if err != nil {
		return "", &AbsentError{err.Error()}
	}
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		return "", &AbsentError{"cargo, which compiles the program that runs Tantivy, is not in PATH"}
	}
	cache := filepath.Dir(program)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("compile the program that runs Tantivy: %w", err)
	}
	temp, err := os.MkdirTemp(cache, ".source-*")
	if err != nil {
		return "", fmt.Errorf("compile the program that runs Tantivy: %w", err)
	}
	defer os.RemoveAll(temp)
	if err := os.CopyFS(temp, tantivyFiles); err != nil {
		return "", fmt.Errorf("compile the program that runs Tantivy: %w", err)
	}
	// All versions of the program share the compiled libraries.
	target := filepath.Join(cache, "target")
	cmd := exec.CommandContext(ctx, cargo, "build", "--release", "--locked", "--quiet", "--target-dir", target)
	cmd.Dir = filepath.Join(temp, "tantivy")
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", fmt.Errorf("compile the program that runs Tantivy: %w", ctx.Err())
	}
	if err != nil {
		return "", &AbsentError{fmt.Sprintf("cargo cannot compile the program that runs Tantivy (%v): %s", err, firstError(string(output)))}
	}
	if err := os.Rename(filepath.Join(target, "release", "anchor"), program); err != nil {
		return "", fmt.Errorf("compile the program that runs Tantivy: %w", err)
	}
	return program, nil
}

// firstError returns the first line of cargo's output that is an error, or the first line if none is.
func firstError(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return lines[max(0, slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "error") }))]
}
