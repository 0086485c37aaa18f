package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/backup"
)

func ignore(int64, int64) {}

// database creates the files of a database, and returns their contents by name.
func database(t *testing.T) (dir string, files map[string]string) {
	t.Helper()
	dir = t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	files = map[string]string{}
	for name, size := range map[string]int{"MANIFEST-000001": 200, "000004.sst": 70_000, "000005.log": 0, "deeper/blob": 1000} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(rng.Uint32())
		}
		files[name] = string(content)
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, files
}

func stream(t *testing.T) ([]byte, map[string]string) {
	t.Helper()
	dir, files := database(t)
	var b bytes.Buffer
	h := backup.Header{Vitrine: "1.2.3", Created: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	if err := backup.Write(context.Background(), &b, dir, h); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), files
}

// tree returns the contents of all files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRoundTrip(t *testing.T) {
	whole, files := stream(t)
	dataDir := t.TempDir()
	for _, name := range []string{"lost+found", "tls", "webhook", ".restore-1234"} { // the last folder is from an interrupted restore
		if err := os.Mkdir(filepath.Join(dataDir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var last, total int64
	h, err := backup.Restore(context.Background(), bytes.NewReader(whole), dataDir, func(d, n int64) { last, total = d, n })
	if err != nil {
		t.Fatal(err)
	}
	if h.Vitrine != "1.2.3" || h.Files != len(files) || last != total || total != h.Bytes {
		t.Errorf("header %+v, progress %d of %d", h, last, total)
	}
	if diff := cmp.Diff(files, tree(t, filepath.Join(dataDir, "pebble"))); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(dataDir)
	if err != nil || len(entries) != 5 {
		t.Errorf("the data directory holds %v, %v", entries, err)
	}
	if mark := tree(t, dataDir)["vitrine-backup.json"]; !strings.Contains(mark, "1.2.3") {
		t.Errorf("the mark of the restore: %q", mark)
	}
	if _, err := backup.Restore(context.Background(), bytes.NewReader(whole), dataDir, ignore); !errors.As(err, new(*backup.NotEmptyError)) {
		t.Errorf("restored over a store: %v", err)
	}
	// A restore that was killed before it put the database in place has left the header. The next restore replaces it.
	if err := os.RemoveAll(filepath.Join(dataDir, "pebble")); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(context.Background(), bytes.NewReader(whole), dataDir, ignore); err != nil {
		t.Error(err)
	}
}

// TestDirectory checks a backup in a directory, which sha256sum -c can verify.
func TestDirectory(t *testing.T) {
	whole, files := stream(t)
	dir := filepath.Join(t.TempDir(), "backup")
	if _, err := backup.Extract(context.Background(), bytes.NewReader(whole), dir, ignore); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Extract(context.Background(), bytes.NewReader(whole), dir, ignore); err == nil {
		t.Error("wrote over a backup")
	}
	restore := func() (string, error) {
		in, err := backup.Open(dir)
		if err != nil {
			return "", err
		}
		defer in.Close()
		dataDir := t.TempDir()
		_, err = backup.Restore(context.Background(), in, dataDir, ignore)
		return dataDir, err
	}
	dataDir, err := restore()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, tree(t, filepath.Join(dataDir, "pebble"))); diff != "" {
		t.Error(diff)
	}
	table := filepath.Join(dir, "pebble", "000004.sst")
	content, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	content[100] ^= 1
	if err := os.WriteFile(table, content, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := (*backup.DamagedError)(nil)
	if dataDir, err = restore(); !errors.As(err, &damaged) || damaged.File != "pebble/000004.sst" {
		t.Errorf("restored a damaged file: %v", err)
	}
	if left := tree(t, dataDir); len(left) > 0 {
		t.Errorf("a failed restore left %d files", len(left))
	}
	if err := os.Remove(table); err != nil {
		t.Fatal(err)
	}
	if _, err = restore(); err == nil {
		t.Error("restored without a file")
	}
}

// TestDamage truncates a stream at many places, and flips bits in it. In each case, it checks that Restore fails and leaves no files.
func TestDamage(t *testing.T) {
	whole, _ := stream(t)
	rng := rand.New(rand.NewPCG(3, 4))
	try := func(what string, damaged []byte) {
		t.Helper()
		dataDir := t.TempDir()
		if _, err := backup.Restore(context.Background(), bytes.NewReader(damaged), dataDir, ignore); err == nil {
			t.Errorf("%s: restored", what)
			return
		}
		if left := tree(t, dataDir); len(left) > 0 {
			t.Errorf("%s: a failed restore left %d files", what, len(left))
		}
	}
	end := bytes.LastIndex(whole, []byte("pebble/")) // the last occurrence, which is in the list of checksums
	for range 60 {
		try("cut", whole[:rng.IntN(end)])
	}
	contents := bytes.Index(whole, []byte("pebble/000004.sst")) + 512
	for range 60 {
		flipped := bytes.Clone(whole)
		flipped[contents+rng.IntN(70_000)] ^= 1 << rng.IntN(8)
		try("flipped", flipped)
	}
	try("empty", nil)
	try("something else", bytes.Repeat([]byte("something else"), 1000))
}

func TestCompressed(t *testing.T) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write([]byte("a tar")); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(context.Background(), &packed, filepath.Join(t.TempDir(), "data"), ignore); !errors.Is(err, backup.ErrCompressed) {
		t.Errorf("restored a compressed backup: %v", err)
	}
}

// TestHostile checks that Restore refuses entries outside of the database folder.
func TestHostile(t *testing.T) {
	for name, h := range map[string]tar.Header{
		"parent":   {Typeflag: tar.TypeReg, Name: "pebble/../../evil"},
		"absolute": {Typeflag: tar.TypeReg, Name: "/evil"},
		"sideways": {Typeflag: tar.TypeReg, Name: "evil"},
		"symlink":  {Typeflag: tar.TypeSymlink, Name: "pebble/evil", Linkname: "/etc/passwd"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			header := []byte(`{"format":1}`)
			err := errors.Join(
				w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "vitrine-backup.json", Size: int64(len(header)), Mode: 0o600}),
				func() error { _, err := w.Write(header); return err }(),
				w.WriteHeader(&h), w.Close(),
			)
			if err != nil {
				t.Fatal(err)
			}
			parent := t.TempDir()
			if _, err := backup.Restore(context.Background(), &b, filepath.Join(parent, "data"), ignore); !errors.As(err, new(*backup.DamagedError)) {
				t.Errorf("restored: %v", err)
			}
			if left := tree(t, parent); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// entry returns a tar entry of any type, even one that the package archive/tar does not write.
func entry(t *testing.T, kind byte, name string, declared int64, content []byte, change func(block []byte)) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: declared, Mode: 0o600, Format: tar.FormatGNU}); err != nil {
		t.Fatal(err)
	}
	block := b.Bytes()
	block[156] = kind
	if change != nil {
		change(block)
	}
	copy(block[148:156], "        ")
	sum := 0
	for _, c := range block {
		sum += int(c)
	}
	copy(block[148:156], fmt.Sprintf("%06o\x00 ", sum))
	block = append(block, content...)
	return append(block, make([]byte, -len(block)&511)...)
}

// pax returns the records of an extended header.
func pax(records ...string) []byte {
	var b []byte
	for _, r := range records {
		n := len(r) + 2
		for n != len(strconv.Itoa(n))+len(r)+2 {
			n = len(strconv.Itoa(n)) + len(r) + 2
		}
		b = fmt.Appendf(b, "%d %s\n", n, r)
	}
	return b
}

// zeros is an endless stream.
type zeros struct{ read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

// TestBombs checks that streams whose content exceeds what their header declares are refused, and that Restore reads and writes no more
// than that.
func TestBombs(t *testing.T) {
	const huge = 3 << 30
	header := func(files int, size int64) []byte {
		text := fmt.Appendf(nil, `{"format":1,"files":%d,"bytes":%d}`, files, size)
		return entry(t, tar.TypeReg, "vitrine-backup.json", int64(len(text)), text, nil)
	}
	small := entry(t, tar.TypeReg, "pebble/1", 1, []byte{1}, nil)
	for name, stream := range map[string][]byte{
		"PAX sparse 0.1": slices.Concat(header(1, huge),
			entry(t, tar.TypeXHeader, "x", int64(len(pax("GNU.sparse.size=3221225472", "GNU.sparse.numblocks=1", "GNU.sparse.map=0,1"))),
				pax("GNU.sparse.size=3221225472", "GNU.sparse.numblocks=1", "GNU.sparse.map=0,1"), nil), small),
		"PAX sparse 1.0": slices.Concat(header(1, huge),
			entry(t, tar.TypeXHeader, "x", int64(len(pax("GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.realsize=3221225472"))),
				pax("GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.realsize=3221225472"), nil),
			entry(t, tar.TypeReg, "pebble/1", 513, append(append([]byte("1\n0\n1\n"), make([]byte, 506)...), 1), nil)),
		"GNU sparse": slices.Concat(header(1, huge), entry(t, tar.TypeGNUSparse, "pebble/1", 1, []byte{1}, func(block []byte) {
			copy(block[386:], "00000000000\x0000000000001\x00")
			copy(block[483:], "30000000000\x00")
		})),
		"a file larger than declared":       slices.Concat(header(1, 10), entry(t, tar.TypeReg, "pebble/1", huge, nil, nil)),
		"more files than declared":          slices.Concat(header(1, 10), small, entry(t, tar.TypeReg, "pebble/2", 1, []byte{1}, nil)),
		"no file declared":                  slices.Concat(header(0, 0), small),
		"a header larger than any":          slices.Concat(entry(t, tar.TypeReg, "vitrine-backup.json", huge, nil, nil)),
		"an extended header without an end": slices.Concat(header(1, 1), entry(t, tar.TypeXHeader, "x", huge, nil, nil)),
		"a list larger than declared":       slices.Concat(header(1, 1), small, entry(t, tar.TypeReg, "SHA256SUMS", huge, nil, nil)),
		"negative numbers":                  header(-1, -1),
		"numbers that overflow":             header(math.MaxInt32, math.MaxInt64),
	} {
		t.Run(name, func(t *testing.T) {
			rest := &zeros{}
			dataDir := t.TempDir()
			var wrote int64
			_, err := backup.Restore(t.Context(), io.MultiReader(bytes.NewReader(stream), rest), dataDir, func(done, _ int64) { wrote = done })
			if err == nil {
				t.Error("restored")
			}
			if wrote > 10 || rest.read > 1<<20 {
				t.Errorf("wrote %d bytes, and read %d bytes after the stream (%v)", wrote, rest.read, err)
			}
			if left := tree(t, dataDir); len(left) > 0 {
				t.Errorf("left %d files", len(left))
			}
		})
	}
}

// TestDeclaredSize checks that the number and the size of the files equal those in the header, and that nothing but padding follows them.
func TestDeclaredSize(t *testing.T) {
	whole, _ := stream(t)
	sums := func(b []byte) []byte { // corrects the checksum of the header in the list
		end := bytes.Index(b, []byte("pebble/"))
		size := bytes.IndexByte(b[512:end], '}') + 1
		return bytes.Replace(b, fmt.Appendf(nil, "%x", sha256.Sum256(whole[512:512+size])), fmt.Appendf(nil, "%x", sha256.Sum256(b[512:512+size])), 1)
	}
	if _, err := backup.Check(t.Context(), bytes.NewReader(sums(whole)), ignore); err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"more files": sums(bytes.Replace(whole, []byte(`"files": 4`), []byte(`"files": 5`), 1)),
		"fewer":      sums(bytes.Replace(whole, []byte(`"files": 4`), []byte(`"files": 3`), 1)),
		"more bytes": sums(bytes.Replace(whole, []byte(`"bytes": 71200`), []byte(`"bytes": 71201`), 1)),
		"less":       sums(bytes.Replace(whole, []byte(`"bytes": 71200`), []byte(`"bytes": 71199`), 1)),
		"a tail":     append(bytes.Clone(whole), make([]byte, 1<<20)...),
	} {
		if bytes.Equal(damaged, whole) {
			t.Fatalf("%s: the stream has not changed", name)
		}
		if _, err := backup.Check(t.Context(), bytes.NewReader(damaged), ignore); !errors.As(err, new(*backup.DamagedError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNewerFormat(t *testing.T) {
	whole, _ := stream(t)
	newer := bytes.Replace(whole, []byte(`"format": 1`), []byte(`"format": 9`), 1)
	_, err := backup.Extract(context.Background(), bytes.NewReader(newer), filepath.Join(t.TempDir(), "b"), ignore)
	if err == nil || errors.As(err, new(*backup.DamagedError)) {
		t.Errorf("a newer format: %v", err)
	}
}

func TestCancel(t *testing.T) {
	whole, _ := stream(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir, _ := database(t)
	if err := backup.Write(ctx, io.Discard, dir, backup.Header{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Write: %v", err)
	}
	if _, err := backup.Restore(ctx, bytes.NewReader(whole), t.TempDir(), ignore); !errors.Is(err, context.Canceled) {
		t.Errorf("Restore: %v", err)
	}
}

// TestErrorOfTheSourceIsNotDamage checks that an error of the reader, at any position of the stream, is returned unchanged.
func TestErrorOfTheSourceIsNotDamage(t *testing.T) {
	whole, _ := stream(t)
	broken := errors.New("input/output error")
	for at := range len(whole) {
		if at%499 != 0 {
			continue
		}
		r := io.MultiReader(bytes.NewReader(whole[:at]), iotest.ErrReader(broken))
		if _, err := backup.Check(t.Context(), r, ignore); !errors.Is(err, broken) || errors.As(err, new(*backup.DamagedError)) {
			t.Errorf("at byte %d: %v", at, err)
		}
	}
}
