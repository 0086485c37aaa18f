// Command release writes the files of a release into a directory that is empty or does not exist, from the root of the repository:
//
//	go run ./hack/release -version v0.1.0 -to dist
//
//	image.tar                               the image: an OCI layout, see hack/image
//	vitrine_VERSION_OS_ARCH.tar.gz or .zip  the binary for each platform, with LICENSE and THIRD-PARTY-NOTICES
//	kubectl-vitrine_VERSION_OS_ARCH…        the same as a plugin of kubectl
//	krew.yaml                               the manifest of the plugin for krew, with the SHA-256 of its archives
//	vitrine-VERSION.tgz                     the chart
//	install.yaml, crds.yaml                 config/default and config/crd, each in one file
//	review.sh                               templates/review/review.sh, which the jobs of the component for GitLab download
//	vitrine.cdx.json, THIRD-PARTY-NOTICES   the bill of materials and the notices of the binaries
//	RELEASE-NOTES.md                        the section of the version in CHANGELOG.md, or [Unreleased] for a pre-release without one
//	SHA256SUMS                              the sums of all of these
//
// The command needs Go and git, but no container engine. If the module cache is complete, it needs no network. With the same version of Go,
// the same commit results in the same bytes. GoReleaser was refused, because it needs a container engine or a registry for the image, and
// syft for the bill of materials.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// release is one run of this command.
type release struct {
	source, to string // directories
	version    string
	image      string // without a tag
	downloads  string // the URL below which the files of this version can be downloaded
	platforms  string // the platforms of the archives
	out        io.Writer
}

func run(ctx context.Context, args []string, out io.Writer) error {
	r := release{out: out}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.source, "source", ".", "the root of the repository")
	flags.StringVar(&r.version, "version", "", "the version, such as v0.1.0 or v0.1.0-rc.1")
	flags.StringVar(&r.to, "to", "dist", "the directory to write to, which must be empty or not exist")
	flags.StringVar(&r.image, "image", "ghcr.io/vitrine-dev/vitrine", "the image in install.yaml and in the chart, without a tag")
	flags.StringVar(&r.downloads, "downloads", "https://github.com/vitrine-dev/vitrine/releases/download", "the URL of the directory that contains a directory with the files of each version")
	flags.StringVar(&r.platforms, "platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64", "the platforms of the archives; the image is built for the linux platforms among them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r.downloads += "/" + r.version
	if err := r.check(ctx); err != nil {
		return err
	}
	to, err := filepath.Abs(r.to)
	if err != nil {
		return fmt.Errorf("-to: %w", err)
	}
	r.to = to
	for _, step := range []func(context.Context) error{r.writeNotes, r.writeBinaries, r.writeManifests, r.writeKrew, r.writeSums} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// versionForm is a semantic version without build metadata, which tags of images cannot contain.
var versionForm = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?$`)

// check rejects an invalid version, a version whose tag is on another commit, and a target directory that contains files.
func (r *release) check(ctx context.Context) error {
	if !versionForm.MatchString(r.version) {
		return fmt.Errorf("version %q: must be v and a semantic version, such as v0.1.0 or v0.1.0-rc.1", r.version)
	}
	git := func(args ...string) string {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", r.source}, args...)...).Output()
		if err != nil {
			return "" // the source is no Git repository, or the tag does not exist
		}
		return strings.TrimSpace(string(out))
	}
	if tag := git("rev-parse", "--quiet", "--verify", "refs/tags/"+r.version+"^{commit}"); tag != "" && tag != git("rev-parse", "HEAD") {
		return fmt.Errorf("version %s: its tag is on commit %.12s, but another commit is checked out: run git switch --detach %[1]s, or choose another version", r.version, tag)
	}
	if git("status", "--porcelain") != "" {
		fmt.Fprintln(r.out, "do not publish these files, because the working tree has uncommitted changes")
	}
	entries, err := os.ReadDir(r.to)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("-to: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("-to %s: the directory is not empty: remove its files, because SHA256SUMS would list them", r.to)
	}
	return nil
}

// tool runs another program of the repository and returns its output.
func (r *release) tool(ctx context.Context, name string, args ...string) ([]byte, error) {
	dir := filepath.Join(r.source, "hack", name)
	// Use -trimpath, so that all clones of the repository share the build cache.
	cmd := exec.CommandContext(ctx, "go", append([]string{"-C", dir, "run", "-trimpath", "."}, args...)...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return out, nil
}

// write writes a file of the release.
func (r *release) write(name string, content []byte) error {
	if err := errors.Join(os.MkdirAll(r.to, 0o755), os.WriteFile(filepath.Join(r.to, name), content, 0o644)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// writeBinaries writes the image, the archives, the bill of materials and the notices.
func (r *release) writeBinaries(ctx context.Context) error {
	var architectures []string
	for p := range strings.SplitSeq(r.platforms, ",") {
		if arch, linux := strings.CutPrefix(p, "linux/"); linux {
			architectures = append(architectures, arch)
		}
	}
	out, err := r.tool(ctx, "image", "-version", r.version, "-platforms", r.platforms, "-archives", r.to,
		"-ref", r.image+":"+r.version, "-architectures", strings.Join(architectures, ","), "-to", filepath.Join(r.to, "image.tar"))
	if err != nil {
		return err
	}
	_, err = r.out.Write(out)
	return err
}

func (r *release) writeManifests(ctx context.Context) error {
	if _, err := r.tool(ctx, "install", "chart", "-version", r.version, "-repository", r.image, "-to", r.to); err != nil {
		return err
	}
	for name, args := range map[string][]string{
		"install.yaml": {"manifest", "-image", r.image + ":" + r.version},
		"crds.yaml":    {"crds"},
	} {
		text, err := r.tool(ctx, "install", args...)
		if err != nil {
			return err
		}
		if err := r.write(name, text); err != nil {
			return err
		}
	}
	script, err := os.ReadFile(filepath.Join(r.source, "templates", "review", "review.sh"))
	if err != nil {
		return fmt.Errorf("read the script of reviews: %w", err)
	}
	return r.write("review.sh", script)
}

// writeSums writes the sums of all files in the format of sha256sum, ordered by name.
func (r *release) writeSums(context.Context) error {
	entries, err := os.ReadDir(r.to)
	if err != nil {
		return fmt.Errorf("list the files: %w", err)
	}
	var out bytes.Buffer
	for _, e := range entries {
		sum, err := r.sum(e.Name())
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s  %s\n", sum, e.Name())
	}
	if _, err := r.out.Write(out.Bytes()); err != nil {
		return err
	}
	return r.write("SHA256SUMS", out.Bytes())
}

// sum returns the SHA-256 of a file of the release in hexadecimal.
func (r *release) sum(name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(r.to, name))
	if err != nil {
		return "", fmt.Errorf("read a file of the release: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(content)), nil
}
