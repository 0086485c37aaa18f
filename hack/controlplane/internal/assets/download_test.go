package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// archive returns an archive in the format of envtest with scripts as programs.
func archive(t *testing.T, names ...string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	for _, name := range names {
		text := "#!/bin/sh\necho " + name + "\n"
		if err := files.WriteHeader(&tar.Header{Name: "controller-tools/envtest/" + name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// official serves an index of archives by version and returns its URL. All archives have the same content.
func official(t *testing.T, content []byte, checksum string, versions ...string) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	index := "releases:\n"
	for _, version := range versions {
		name := fmt.Sprintf("envtest-%s-%s-%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
		index += fmt.Sprintf("  %s:\n    %s:\n      hash: %s\n      selfLink: %s/%s\n", version, name, checksum, server.URL, name)
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	}
	mux.HandleFunc("/index.yaml", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(index)) })
	return server.URL + "/index.yaml"
}

func checksum(content []byte) string { return fmt.Sprintf("%x", sha512.Sum512(content)) }

func TestDirDownloads(t *testing.T) {
	opts, calls, progress := fakeGo(t, builds)
	content := archive(t, Etcd, APIServer, Kubectl)
	opts.source.index = official(t, content, checksum(content), "v1.22.9", "v1.23.2", "v1.23.10", "v1.24.0")
	dir, err := Dir(t.Context(), opts)
	if err != nil {
		t.Fatalf("%v\n%s", err, progress())
	}
	if lacking := missing(dir, []string{Etcd, APIServer, Kubectl}); len(lacking) > 0 || !strings.Contains(filepath.Base(dir), "envtest-1.23-") {
		t.Errorf("%s lacks %v", dir, lacking)
	}
	if _, err := os.Stat(calls); err == nil {
		t.Error("something was built")
	}
	opts.source.index = "http://127.0.0.1:1/"
	if again, err := Dir(t.Context(), opts); err != nil || again != dir {
		t.Errorf("a second time: %s, %v, want %s from the cache", again, err, dir)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); err != nil || len(left) > 0 {
		t.Errorf("the download left %v (%v)", left, err)
	}
}

// TestDirBuildsAfterABadDownload checks that Dir builds the programs after a failed download, and uses nothing from the download.
func TestDirBuildsAfterABadDownload(t *testing.T) {
	complete, incomplete := archive(t, Etcd, APIServer, Kubectl), archive(t, Etcd)
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hang.Close)
	stall := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("releases:\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(stall.Close)
	for name, test := range map[string]struct {
		source source
		want   string
	}{
		"a wrong checksum":           {source{index: official(t, complete, checksum(incomplete), "v1.23.2")}, "checksum mismatch"},
		"no build of the version":    {source{index: official(t, complete, checksum(complete), "v1.22.9")}, "no official build of Kubernetes 1.23"},
		"an incomplete archive":      {source{index: official(t, incomplete, checksum(incomplete), "v1.23.2")}, "lacks kubectl, kube-apiserver"},
		"a server that hangs":        {source{index: hang.URL, firstByte: 50 * time.Millisecond}, "no response within 50ms"},
		"an answer that never ends":  {source{index: stall.URL, total: 200 * time.Millisecond}, "did not finish within 200ms"},
		"a server that does not run": {source{index: "http://127.0.0.1:1/"}, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			opts, calls, progress := fakeGo(t, builds)
			opts.source = test.source
			dir, err := Dir(t.Context(), opts)
			if err != nil || !strings.Contains(filepath.Base(dir), "kubernetes-v1.23.4") || !strings.Contains(progress(), test.want) {
				t.Errorf("Dir = %s, %v, want a build, after %q:\n%s", dir, err, test.want, progress())
			}
			if _, err := os.Stat(calls); err != nil {
				t.Errorf("nothing was built: %v", err)
			}
		})
	}
}
