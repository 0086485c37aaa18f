package browser

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Packages and their SHA-256.
var (
	axePackage = archive{"axe-core@4.14.1", "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"}
	// compilers contains the npm packages of the TypeScript compiler by operating system and architecture.
	compilers = map[string]archive{
		"linux/amd64":  {"@typescript/typescript-linux-x64@7.0.2", "7ecad6f67377e831856367ab062ef394f21506a611405bf8ac0ff039348637d3"},
		"linux/arm64":  {"@typescript/typescript-linux-arm64@7.0.2", "c83d931ac9dd7549cde6e71246aa9d6a9812843023df3e277fe3b5dcf41dd0ea"},
		"darwin/arm64": {"@typescript/typescript-darwin-arm64@7.0.2", "902e2fe1cf0799198ef902c6b8c310a450fef629a6baba41d45641ef75c04ebd"},
	}
)

// archive names a version of an npm package, with the SHA-256 of its archive.
type archive struct{ name, sum string }

// provide returns a directory with the files of the package. It downloads the package once into the user's cache directory.
func (a archive) provide(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		absent(t, "%v", err)
	}
	dir := filepath.Join(cache, "vitrine", "browser", a.sum[:16])
	if _, err := os.Stat(dir); err == nil {
		return filepath.Join(dir, "package")
	}
	content, err := download(t.Context(), a.name)
	if err != nil {
		absent(t, "download %s: %v", a.name, err)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != a.sum {
		t.Fatalf("download %s: its SHA-256 is %x, want %s", a.name, sum, a.sum)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".unpack-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	if err := unpack(content, temp); err != nil {
		t.Fatalf("unpack %s: %v", a.name, err)
	}
	if err := os.Rename(temp, dir); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return filepath.Join(dir, "package")
}

// download returns the archive of a package. npm uses the registry that the user has configured.
func download(ctx context.Context, name string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "vitrine-npm-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if output, err := exec.CommandContext(ctx, "npm", "pack", name, "--silent", "--pack-destination", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack: %w: %s", err, bytes.TrimSpace(output))
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if len(files) != 1 {
		return nil, fmt.Errorf("npm pack wrote %q, want one archive", files)
	}
	return os.ReadFile(files[0])
}

// unpack writes the files of a compressed tar archive.
func unpack(content []byte, dir string) error {
	zipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
			return err
		}
		f, err := root.OpenFile(header.Name, os.O_CREATE|os.O_WRONLY, header.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(f, files)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
}

// TestTypes checks the types in the comments of the console's modules with the TypeScript compiler.
func TestTypes(t *testing.T) {
	gate(t)
	compiler, ok := compilers[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		absent(t, "there is no compiler of TypeScript for %s/%s in compilers", runtime.GOOS, runtime.GOARCH)
	}
	tsc := filepath.Join(compiler.provide(t), "lib", "tsc")
	if err := os.Chmod(tsc, 0o755); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), tsc, "--project", "tsconfig.json", "--pretty", "false").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// TestSize checks that the scripts and styles of the console have less than 150 kB in total, if each file is compressed with gzip.
func TestSize(t *testing.T) {
	const limit = 150_000
	total, files := 0, 0
	err := filepath.WalkDir(filepath.Join(root, "server/console/assets"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".js") && !strings.HasSuffix(path, ".css") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var zipped bytes.Buffer
		w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		if _, err := w.Write(content); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		total, files = total+zipped.Len(), files+1
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files with %d bytes, compressed", files, total)
	if total == 0 || total >= limit {
		t.Errorf("scripts and styles have %d bytes, want less than %d", total, limit)
	}
}
