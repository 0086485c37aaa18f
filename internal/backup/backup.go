// Package backup writes a consistent copy of a store as a tar stream, extracts such a stream, and checks every byte against the
// checksums in it.
//
// A backup contains items, definitions, the digests of tokens and the store's own keys. It contains no index, because the library rebuilds
// the index when it first opens the restored store, and it does not contain the server's certificate. A backup contains personal data and
// the key of author references, so it needs the same protection as the store.
//
// # The stream
//
// A stream is a tar with, in this order: vitrine-backup.json (a Header), the files of the database under pebble/, and SHA256SUMS, which has
// one line for each of the other entries, in the format of sha256sum. A stream without this last entry is incomplete.
//
// A stream is not trusted. All entries are regular files without holes, and their number and total size are those in the Header. Extract,
// Check and Restore therefore write and read at most Header.MaxSize() bytes, and at most as many files as the Header names.
//
// The package imports nothing from this project.
package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

const (
	headerName   = "vitrine-backup.json"
	checksumName = "SHA256SUMS"
	// databaseName is the folder of the database, both in a backup and in a data directory.
	databaseName = "pebble"
	// formatVersion is the version of the stream format.
	formatVersion = 1
	// maxHeader and maxChecksums are the maximum sizes of the entries headerName and checksumName. They limit the use of memory for a
	// stream that is not a backup.
	maxHeader    = 64 << 10
	maxChecksums = 64 << 20
	// maxFiles and maxBytes are the maximum number and the maximum total size of the files of a database.
	maxFiles = 1 << 20
	maxBytes = 1 << 50
)

// Census identifies a store, and describes one state of it in numbers. In an intact store, neither Batch nor Items+Deleted ever falls.
type Census struct {
	// Store is the id of the store. It is empty in backups that were made before backups recorded it; the numbers are then 0.
	Store string `json:"store,omitempty"`
	// Batch is the number of the newest batch.
	Batch uint64 `json:"batch,omitempty"`
	// Items is the number of items. Deleted is the number of items that were deleted so far.
	Items   int64 `json:"items,omitempty"`
	Deleted int64 `json:"deleted,omitempty"`
}

// Header describes a backup.
type Header struct {
	Format int `json:"format"`
	// Vitrine is the version of Vitrine that wrote the backup.
	Vitrine string    `json:"vitrine"`
	Created time.Time `json:"created"`
	// Census describes the store at the time of the backup.
	Census
	// Files and Bytes are the number and the total size of the files that follow.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Progress is called with the number of processed bytes and the total number of bytes.
type Progress func(done, total int64)

// Write writes the database in dir as a stream. The files in dir must not change until it returns.
func Write(ctx context.Context, w io.Writer, dir string, h Header) error {
	h.Format = formatVersion
	var files []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		files = append(files, name)
		h.Files++
		h.Bytes += info.Size()
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the files of the backup: %w", err)
	}
	out := &writer{tar: tar.NewWriter(w), created: h.Created}
	text, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return err
	}
	if err := out.entry(headerName, int64(len(text)), bytes.NewReader(text)); err != nil {
		return err
	}
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if err := out.file(path.Join(databaseName, filepath.ToSlash(rel)), name); err != nil {
			return err
		}
	}
	sums := out.sums.Bytes()
	if err := out.entry(checksumName, int64(len(sums)), bytes.NewReader(bytes.Clone(sums))); err != nil {
		return err
	}
	return out.tar.Close()
}

// writer writes entries and collects their checksums.
type writer struct {
	tar     *tar.Writer
	created time.Time
	sums    bytes.Buffer
}

func (w *writer) file(name, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return w.entry(name, info.Size(), f)
}

func (w *writer) entry(name string, size int64, content io.Reader) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.created}
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(w.tar, sum), content, size); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	fmt.Fprintf(&w.sums, "%x  %s\n", sum.Sum(nil), name)
	return nil
}

// DatabaseIn returns the path of the database in a data directory or in the copy of a data directory.
func DatabaseIn(dir string) string { return filepath.Join(dir, databaseName) }

// DamagedError means that a backup is incomplete, does not match its checksums, or has another wrong content.
type DamagedError struct {
	// File is the name of the damaged entry, or "" for the whole backup.
	File   string
	Reason string
}

func (e *DamagedError) Error() string {
	if e.File == "" {
		return "the backup is damaged: " + e.Reason
	}
	return fmt.Sprintf("the backup is damaged: %s: %s", e.File, e.Reason)
}

// Extract writes the files of a stream to dir and checks all of them. dir must be empty or missing; Extract creates it. After an error,
// Extract restores the previous state of dir. The error is a *DamagedError if the stream is incomplete or damaged.
func Extract(ctx context.Context, r io.Reader, dir string, progress Progress) (Header, error) {
	made, err := prepareDir(dir)
	if err != nil {
		return Header{}, err
	}
	h, err := extract(ctx, r, dir, progress)
	if err == nil {
		err = syncTree(dir)
	}
	if err != nil {
		return Header{}, errors.Join(err, clearDir(dir, made))
	}
	return h, nil
}

func prepareDir(dir string) (made bool, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return false, err
	}
	if len(entries) > 0 {
		return false, fmt.Errorf("%s is not empty (it contains %s): choose a new directory", dir, entries[0].Name())
	}
	return false, nil
}

func clearDir(dir string, made bool) error {
	if made {
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// ErrCompressed means that a stream is not a tar but is compressed with gzip.
var ErrCompressed = errors.New("the backup is compressed with gzip: decompress it first, as in gunzip -c vitrine.tar.gz | vitrine restore -")

// Peek returns the header of a stream without consuming any of the stream.
func Peek(r *bufio.Reader) (Header, error) {
	start, err := r.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) {
		return Header{}, err
	}
	if isGzip(start) {
		return Header{}, ErrCompressed
	}
	in := tar.NewReader(bytes.NewReader(start))
	entry, err := in.Next()
	if err != nil {
		return Header{}, &DamagedError{Reason: "its first file is not " + headerName + " (is it a Vitrine backup?)"}
	}
	h, _, err := readHeader(in, entry.Name)
	return h, err
}

// peeked is the number of bytes that Peek reads. The first entry of a stream fits into them, because the header has only a few short
// members.
const peeked = 2 << 10

// MaxSize returns a size that no stream with this header exceeds.
func (h Header) MaxSize() int64 {
	// Each entry needs a tar header of 512 bytes, up to 512 bytes of padding, and a line of less than 512 bytes in the list of checksums.
	const perFile, rest = 3 * 512, 128 << 10
	return h.Bytes + perFile*int64(h.Files) + rest
}

// Check reads a stream to its end and checks all of it. The error is a *DamagedError if the stream is incomplete or damaged.
func Check(ctx context.Context, r io.Reader, progress Progress) (Header, error) {
	return extract(ctx, r, "", progress)
}

// extract reads a stream, checks it, and writes its files to dir. If dir is "", it discards the files.
func extract(ctx context.Context, r io.Reader, dir string, progress Progress) (Header, error) {
	limited := &limit{r: r, left: maxHeader + extraRead}
	buffered := bufio.NewReader(limited)
	// Ignore read errors and short streams here, because the tar reader reports them.
	if start, err := buffered.Peek(2); err == nil && isGzip(start) {
		return Header{}, ErrCompressed
	}
	x := &extraction{in: tar.NewReader(buffered), limit: limited, dir: dir, progress: progress, sums: map[string]string{}}
	for {
		if err := ctx.Err(); err != nil {
			return x.header, err
		}
		entry, err := x.in.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return x.header, &DamagedError{Reason: "it ends before its list of checksums"}
		}
		if errors.Is(err, tar.ErrHeader) {
			return x.header, &DamagedError{Reason: err.Error()}
		}
		if err != nil {
			return x.header, err
		}
		switch {
		case !isPlain(entry):
			err = &DamagedError{File: entry.Name, Reason: "a backup has no such file"}
		case x.header.Format == 0:
			err = x.first(entry.Name)
		case entry.Name == checksumName:
			return x.header, x.last(buffered)
		default:
			err = x.file(entry)
		}
		if err != nil {
			return x.header, err
		}
	}
}

// extraRead is the maximum number of bytes that are read before the header, or from the rest of the stream together with it: the headers
// of its entry, and the bytes that a buffer reads ahead.
const extraRead = 16 << 10

// limit is a reader that fails if the stream is longer than expected.
type limit struct {
	r    io.Reader
	read int64
	// left is the number of bytes that may still be read.
	left int64
}

// Read implements io.Reader.
func (l *limit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		p = p[:min(1, len(p))] // the stream may end here
	} else {
		p = p[:min(int64(len(p)), l.left)]
	}
	n, err := l.r.Read(p)
	l.read, l.left = l.read+int64(n), l.left-int64(n)
	if l.left < 0 {
		return 0, &DamagedError{Reason: "it is longer than its header says"}
	}
	return n, err
}

// expect sets the maximum number of bytes in the whole stream.
func (l *limit) expect(most int64) { l.left = most - l.read }

func isGzip(start []byte) bool { return bytes.HasPrefix(start, []byte("\x1f\x8b")) }

// isPlain reports whether an entry is a regular file without holes. The holes of a sparse file are not in the stream: an entry of a few
// bytes could fill a disk.
func isPlain(entry *tar.Header) bool {
	for key := range entry.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return false
		}
	}
	return entry.Typeflag == tar.TypeReg
}

type extraction struct {
	in       *tar.Reader
	limit    *limit
	dir      string // "" means to discard the files
	progress Progress
	header   Header
	sums     map[string]string // by name of the entry
	files    int
	done     int64 // in bytes
}

// first reads the entry with the header.
func (x *extraction) first(name string) error {
	h, text, err := readHeader(x.in, name)
	if err != nil {
		return err
	}
	x.header, x.sums[headerName] = h, fmt.Sprintf("%x", sha256.Sum256(text))
	x.limit.expect(h.MaxSize())
	return keep(x.dir, headerName, text)
}

// file reads an entry with a file of the database.
func (x *extraction) file(entry *tar.Header) error {
	name := entry.Name
	if !isEntry(name) || x.sums[name] != "" {
		return &DamagedError{File: name, Reason: "a backup has no such file"}
	}
	if x.files++; x.files > x.header.Files || entry.Size > x.header.Bytes-x.done {
		return &DamagedError{File: name, Reason: fmt.Sprintf("the files exceed those in %s (%d with %d bytes)", headerName, x.header.Files, x.header.Bytes)}
	}
	sum := sha256.New()
	to := ""
	if x.dir != "" {
		to = filepath.Join(x.dir, filepath.FromSlash(name))
	}
	err := writeFile(to, x.in, sum, func(n int64) {
		x.done += n
		x.progress(x.done, x.header.Bytes)
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	x.sums[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// last reads the entry with the checksums, and then the rest of the stream.
func (x *extraction) last(stream io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(x.in, maxChecksums))
	if err != nil {
		return readError(checksumName, err)
	}
	if err := checkSums(text, x.sums); err != nil {
		return err
	}
	if x.files != x.header.Files || x.done != x.header.Bytes {
		return &DamagedError{Reason: fmt.Sprintf("it has %d files with %d bytes, but %s says %d with %d", x.files, x.done, headerName, x.header.Files, x.header.Bytes)}
	}
	// The rest of the stream is padding. Read it to its end, because the last read returns the error of the sender if the sender failed.
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return err
	}
	return keep(x.dir, checksumName, text)
}

// keep writes a small file of a backup, unless dir is "".
func keep(dir, name string, text []byte) error {
	if dir == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, name), text, 0o600)
}

// isEntry reports whether name is the path of a file below the database folder, as an entry of a backup must be.
func isEntry(name string) bool {
	rest, ok := strings.CutPrefix(name, databaseName+"/")
	return ok && rest != "" && path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name))
}

func readHeader(r io.Reader, name string) (Header, []byte, error) {
	if name != headerName {
		return Header{}, nil, &DamagedError{Reason: "its first file is not " + headerName + " (is it a Vitrine backup?)"}
	}
	text, err := io.ReadAll(io.LimitReader(r, maxHeader))
	if err != nil {
		return Header{}, nil, readError(headerName, err)
	}
	var h Header
	switch err := json.Unmarshal(text, &h); {
	case err != nil:
		return Header{}, nil, &DamagedError{File: headerName, Reason: err.Error()}
	case h.Format < 1:
		return Header{}, nil, &DamagedError{File: headerName, Reason: "it has no format version"}
	case h.Format > formatVersion:
		return Header{}, nil, fmt.Errorf("the backup has format %d, but this version of Vitrine reads only formats up to %d: use Vitrine %s or newer", h.Format, formatVersion, h.Vitrine)
	case h.Files < 0 || h.Files > maxFiles || h.Bytes < 0 || h.Bytes > maxBytes:
		return Header{}, nil, &DamagedError{File: headerName, Reason: fmt.Sprintf("no store has %d files with %d bytes", h.Files, h.Bytes)}
	}
	return h, text, nil
}

// checkSums compares the checksums in the last entry with those of the entries that were read.
func checkSums(list []byte, sums map[string]string) error {
	listed := 0
	for line := range strings.Lines(string(list)) {
		want, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok {
			return &DamagedError{File: checksumName, Reason: "a line of the list is not a checksum"}
		}
		switch got := sums[name]; got {
		case want:
			listed++
		case "":
			return &DamagedError{File: name, Reason: "the file is missing"}
		default:
			return &DamagedError{File: name, Reason: "the file does not match its checksum"}
		}
	}
	if listed != len(sums) {
		return &DamagedError{File: checksumName, Reason: fmt.Sprintf("the list contains only %d of %d files", listed, len(sums))}
	}
	return nil
}

// writeFile writes a file and creates its folders, or discards the content if name is "". It adds the content to sum, and calls said with
// the size of each piece after it has written the piece.
func writeFile(name string, content io.Reader, sum hash.Hash, said func(int64)) (err error) {
	if name == "" {
		return copyPieces(io.Discard, content, sum, said)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := copyPieces(f, content, sum, said); err != nil {
		return err
	}
	return f.Sync()
}

func copyPieces(w io.Writer, content io.Reader, sum hash.Hash, said func(int64)) error {
	buffer := make([]byte, 1<<20)
	for {
		n, err := content.Read(buffer)
		if _, failed := w.Write(buffer[:n]); failed != nil {
			return failed
		}
		sum.Write(buffer[:n]) // Write never fails
		said(int64(n))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return readError("", err)
		}
	}
}

// readError converts an error from reading a stream. If the stream itself is wrong, it returns a *DamagedError. It returns an error of the
// source, such as a disk or a connection, unchanged.
func readError(file string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) {
		return &DamagedError{File: file, Reason: err.Error()}
	}
	return err
}

// syncTree syncs dir and all directories below it, so that the names of all files are durable.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return syncDir(name)
	})
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open returns a backup as a stream. source is the path of a file, or of a directory that Extract has written. The caller closes the
// stream.
func Open(source string) (io.ReadCloser, error) {
	info, err := os.Stat(source)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return os.Open(source)
	}
	list, err := os.Open(filepath.Join(source, checksumName))
	if err != nil {
		return nil, &DamagedError{Reason: fmt.Sprintf("%s has no %s (is it a complete backup?)", source, checksumName)}
	}
	defer list.Close()
	names := []string{}
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		if _, name, ok := strings.Cut(lines.Text(), "  "); ok {
			if name != headerName && !isEntry(name) {
				return nil, &DamagedError{File: name, Reason: "a backup has no such file"}
			}
			names = append(names, name)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", checksumName, err)
	}
	r, w := io.Pipe()
	go func() {
		out := &writer{tar: tar.NewWriter(w)}
		for _, name := range append(names, checksumName) {
			if err := out.file(name, filepath.Join(source, filepath.FromSlash(name))); err != nil {
				w.CloseWithError(err)
				return
			}
		}
		w.CloseWithError(out.tar.Close())
	}()
	return r, nil
}

// NotEmptyError means that the data directory is not empty.
type NotEmptyError struct {
	Dir string
	// Holds is the name of a file or folder in Dir.
	Holds string
}

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("%s is not empty: it contains %s. Restore to a new directory, or move the contents away", e.Dir, e.Holds)
}

// spare reports whether Restore ignores a file or folder of this name in the data directory. These are the folder lost+found of a volume,
// the folders with the certificates of the HTTP interface and of the webhook, and the header that an interrupted Restore left.
func spare(name string) bool {
	return name == "lost+found" || name == "tls" || name == "webhook" || name == headerName
}

// asidePrefix is the prefix of the name of the temporary directory into which Restore writes the files before it moves them to their
// places.
const asidePrefix = ".restore-"

// Restore creates a store from a stream, in a data directory without a store. It moves files to their places only after it has checked all
// of them. It also leaves the header in the data directory, before the store: when the store is first opened, this file gives it an id of
// its own. The error can be a *NotEmptyError or a *DamagedError.
func Restore(ctx context.Context, r io.Reader, dataDir string, progress Progress) (Header, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return Header{}, err
	}
	entries, err := os.ReadDir(dataDir)
	if err != nil {
		return Header{}, err
	}
	for _, e := range entries {
		// Remove the files of an earlier restore that was killed. They cannot belong to a running restore, because only this process may
		// use the directory.
		if strings.HasPrefix(e.Name(), asidePrefix) {
			if err := os.RemoveAll(filepath.Join(dataDir, e.Name())); err != nil {
				return Header{}, err
			}
			continue
		}
		if !spare(e.Name()) {
			return Header{}, &NotEmptyError{Dir: dataDir, Holds: e.Name()}
		}
	}
	aside, err := os.MkdirTemp(dataDir, asidePrefix)
	if err != nil {
		return Header{}, err
	}
	h, err := Extract(ctx, r, aside, progress)
	if err == nil {
		err = os.Rename(filepath.Join(aside, headerName), filepath.Join(dataDir, headerName))
	}
	if err == nil {
		err = syncDir(dataDir)
	}
	if err == nil {
		err = os.Rename(filepath.Join(aside, databaseName), filepath.Join(dataDir, databaseName))
	}
	if err == nil {
		err = syncDir(dataDir)
	}
	return h, errors.Join(err, os.RemoveAll(aside))
}
