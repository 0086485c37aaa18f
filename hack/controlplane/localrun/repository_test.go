package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// repository is a Git repository with a work tree.
type repository struct{ dir string }

// newRepository creates an empty repository in dir.
func newRepository(ctx context.Context, dir string) repository {
	GinkgoHelper()
	Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	r := repository{dir: dir}
	r.git(ctx, "init", "--quiet", "--initial-branch=main")
	return r
}

// git runs git in the work tree, without the user's settings, and returns its standard output.
func (r repository) git(ctx context.Context, args ...string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=walk", "GIT_AUTHOR_EMAIL=walk@shop.example", "GIT_COMMITTER_NAME=walk", "GIT_COMMITTER_EMAIL=walk@shop.example")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), "git %s: %s", args[0], &stderr)
	return strings.TrimSpace(string(output))
}

// commit writes files, removes files whose text is "", and commits the work tree.
func (r repository) commit(ctx context.Context, message string, files map[string]string) {
	GinkgoHelper()
	for name, text := range files {
		file := filepath.Join(r.dir, filepath.FromSlash(name))
		if text == "" {
			Expect(os.Remove(file)).To(Succeed())
			continue
		}
		Expect(writePrivate(file, text)).To(Succeed())
	}
	r.git(ctx, "add", "--all")
	r.git(ctx, "commit", "--quiet", "--message="+message)
}

// head returns the hash of the last commit.
func (r repository) head(ctx context.Context) string { return r.git(ctx, "rev-parse", "HEAD") }

// archive writes the files of the last commit to an archive. It archives the tree of the commit instead of the commit itself, because the
// archive of a commit begins with a header of Git.
func (r repository) archive(ctx context.Context, file string) {
	GinkgoHelper()
	r.git(ctx, "archive", "--format=tar.gz", "--output="+file, "HEAD^{tree}")
}

// sources is a fake of Flux's source-controller. It packs the last commit of a repository into an archive, serves the archive over HTTP,
// and reports it in the status of a GitRepository. It does not poll the repository, so a spec must call publish after each commit.
type sources struct {
	stack *stack
	dir   string // the served directory
	url   string
}

func startSources(s *stack) *sources {
	GinkgoHelper()
	dir := filepath.Join(s.state, "artifacts")
	Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	DeferCleanup(server.Close)
	return &sources{s, dir, server.URL}
}

// publish publishes the last commit of a repository in the GitRepository with the given name. It returns the revision in the format
// of Flux.
func (s *sources) publish(ctx context.Context, r repository, name, ref string) string {
	GinkgoHelper()
	hash := r.head(ctx)
	revision, file := ref+"@sha1:"+hash, name+"-"+hash+".tar.gz"
	r.archive(ctx, filepath.Join(s.dir, file))
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	Expect(err).NotTo(HaveOccurred())
	digest := sha256.Sum256(text)
	generation := json.Number(s.stack.do(ctx, "get", "-n", fluxNamespace, "gitrepository", name, "-o", "jsonpath={.metadata.generation}"))
	now := time.Now().UTC().Format(time.RFC3339)
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": generation,
		"artifact": map[string]any{
			"digest": "sha256:" + hex.EncodeToString(digest[:]), "path": file, "url": s.url + "/" + file,
			"revision": revision, "lastUpdateTime": now, "size": len(text),
		},
		"conditions": []map[string]any{{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored " + revision, "lastTransitionTime": now}},
	}})
	Expect(err).NotTo(HaveOccurred())
	s.stack.do(ctx, "patch", "gitrepository", name, "-n", fluxNamespace, "--subresource=status", "--type=merge", "--patch="+string(patch))
	return revision
}

func TestRepositoryArchive(t *testing.T) {
	RegisterTestingT(t)
	ctx := t.Context()
	r := newRepository(ctx, filepath.Join(t.TempDir(), "content"))
	r.commit(ctx, "two", map[string]string{"content/a.yaml": "a\n", "content/b.yaml": "b\n"})
	first := r.head(ctx)
	r.commit(ctx, "one", map[string]string{"content/a.yaml": "", "content/b.yaml": "changed\n"})
	Expect(r.head(ctx)).NotTo(Equal(first))
	file := filepath.Join(t.TempDir(), "archive.tar.gz")
	r.archive(ctx, file)
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	unzipped, err := gzip.NewReader(bytes.NewReader(text))
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for entries := tar.NewReader(unzipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		Expect(err).NotTo(HaveOccurred())
		names = append(names, entry.Name)
	}
	Expect(names).To(Equal([]string{"content/", "content/b.yaml"}))
}
