package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// repository is a Git repository with a work tree.
type repository struct {
	dir string
}

// newRepository makes an empty repository in dir.
func newRepository(ctx context.Context, dir string) (repository, error) {
	r := repository{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, fmt.Errorf("make a Git repository: %w", err)
	}
	_, err := r.git(ctx, "init", "--quiet", "--initial-branch=main")
	return r, err
}

// git runs git in the work tree, without the user's settings, and returns what it wrote to its standard output.
func (r repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=walk", "GIT_AUTHOR_EMAIL=walk@shop.example", "GIT_COMMITTER_NAME=walk", "GIT_COMMITTER_EMAIL=walk@shop.example")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// commit writes files, removes those whose text is "", and commits the work tree.
func (r repository) commit(ctx context.Context, message string, files map[string]string) error {
	for name, text := range files {
		file := filepath.Join(r.dir, filepath.FromSlash(name))
		if text == "" {
			if err := os.Remove(file); err != nil {
				return fmt.Errorf("remove a file from the work tree: %w", err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("make a directory in the work tree: %w", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write a file of the work tree: %w", err)
		}
	}
	if _, err := r.git(ctx, "add", "--all"); err != nil {
		return err
	}
	_, err := r.git(ctx, "commit", "--quiet", "--message="+message)
	return err
}

// head returns the hash of the last commit.
func (r repository) head(ctx context.Context) (string, error) { return r.git(ctx, "rev-parse", "HEAD") }

// archive writes the files of the last commit to a file. It takes the tree and not the commit: the archive of a commit begins
// with a header of Git's own.
func (r repository) archive(ctx context.Context, file string) error {
	_, err := r.git(ctx, "archive", "--format=tar.gz", "--output="+file, "HEAD^{tree}")
	return err
}

// sources stands in for Flux's source-controller: it packs the last commit of a repository, serves it over HTTP and writes it
// into the status of a GitRepository. It does not poll; publish is called after each commit.
type sources struct {
	cluster cluster
	dir     string // what is served
	url     string
	server  *http.Server
}

func startSources(ctx context.Context, c cluster, dir string) (*sources, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the artifacts: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve artifacts: %w", err)
	}
	s := &sources{cluster: c, dir: dir, url: "http://" + listener.Addr().String()}
	s.server = &http.Server{Handler: http.FileServer(http.Dir(dir)), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // returns when stop closes it
	return s, nil
}

func (s *sources) stop() { _ = s.server.Close() }

// publish gives the last commit of a repository to the GitRepository of a name, and returns the revision as Flux writes it.
func (s *sources) publish(ctx context.Context, r repository, name, ref string) (revision string, err error) {
	hash, err := r.head(ctx)
	if err != nil {
		return "", err
	}
	revision = ref + "@sha1:" + hash
	file := name + "-" + hash + ".tar.gz"
	if err := r.archive(ctx, filepath.Join(s.dir, file)); err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return "", fmt.Errorf("read an artifact: %w", err)
	}
	digest := sha256.Sum256(text)
	found, err := s.cluster.get(ctx, "-n", fluxNamespace, "gitrepository", name)
	if err != nil {
		return "", err
	}
	now := time.Now().UTC().Format(time.RFC3339)
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": found[0].Metadata.Generation,
		"artifact": map[string]any{
			"digest": "sha256:" + hex.EncodeToString(digest[:]), "path": file, "url": s.url + "/" + file,
			"revision": revision, "lastUpdateTime": now, "size": len(text),
		},
		"conditions": []map[string]any{{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored " + revision, "lastTransitionTime": now}},
	}})
	if err != nil {
		return "", errors.Join(errors.New("encode the status of a GitRepository"), err)
	}
	_, err = s.cluster.run(ctx, "", "patch", "gitrepository", name, "-n", fluxNamespace, "--subresource=status", "--type=merge", "--patch="+string(patch))
	return revision, err
}

// sourceCRDs are the kinds of source-controller that kustomize-controller watches, without their schemas.
func sourceCRDs() string {
	var text strings.Builder
	for plural, kind := range map[string]string{"gitrepositories": "GitRepository", "ocirepositories": "OCIRepository", "buckets": "Bucket"} {
		fmt.Fprintf(&text, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.source.toolkit.fluxcd.io}
spec:
  group: source.toolkit.fluxcd.io
  names: {plural: %[1]s, singular: %[2]s, kind: %[3]s, listKind: %[3]sList}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
      subresources: {status: {}}
---`, plural, strings.ToLower(kind), kind)
	}
	return text.String()
}
