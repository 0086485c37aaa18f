package output

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is the file that an export or a backup writes. A regular file gets its name only when the file is complete. Only the owner of the
// file can read it, because it contains personal data. If the path is a symbolic link, the file replaces the one to which the link leads. A device,
// a pipe or a socket receives the content directly.
type File struct {
	io.Writer
	path string // the path that the user gave
	// Summary is the output for the command's summary. It is standard error if the content goes to a stream, a pipe or a device, because
	// that may be standard output.
	Summary  io.Writer
	zip      *gzip.Writer
	Recorder *Recorder
	file     *os.File // nil after Keep
	// name is the name that the file gets when it is complete; "" if the File writes to an existing file that is not regular.
	name string
	// stream means that the file is standard output or standard error of the command. The File does not close it.
	stream bool
}

// IncompletePrefix is the beginning of the name of an incomplete file.
const IncompletePrefix = ".vitrine-export-"

// Create opens the file at path. If path is the same file as standard output or standard error of the command, such as
// /dev/stdout, the File writes to that stream.
func Create(path string, stdout, stderr io.Writer) (*File, error) {
	f := &File{path: path, Summary: stdout}
	if err := f.open(stdout, stderr); err != nil {
		return nil, fileError(path, err)
	}
	if f.direct() {
		f.Summary = stderr
	}
	f.Recorder = NewRecorder(f.file, path)
	f.Writer = f.Recorder
	if strings.HasSuffix(path, ".gz") {
		f.zip = gzip.NewWriter(f.Recorder)
		f.Writer = f.zip
	}
	return f, nil
}

func (f *File) open(streams ...io.Writer) error {
	there, err := os.Stat(f.path)
	if err == nil && there.IsDir() {
		return errors.New("it is a directory: name a file in it, or another file")
	}
	if err == nil {
		for _, s := range streams {
			if file, ok := s.(*os.File); ok && isFile(file, there) {
				f.file, f.stream = file, true
				return nil
			}
		}
	}
	if err != nil || there.Mode().IsRegular() {
		if f.name, err = followLinks(f.path); err != nil {
			return err
		}
		// A link in /proc to an open file contains the path that the file had when it was opened. By now, this path may belong to another
		// file, or to no file.
		if named, err := os.Stat(f.name); there != nil && (err != nil || !os.SameFile(there, named)) {
			f.name = ""
		}
	}
	if f.direct() {
		f.file, err = os.OpenFile(f.path, os.O_WRONLY, 0)
	} else {
		f.file, err = os.CreateTemp(filepath.Dir(f.name), IncompletePrefix+"*")
	}
	return err
}

// direct reports whether the content is written directly to a device, a pipe, a socket or a stream of the command.
func (f *File) direct() bool { return f.name == "" }

// Failure returns the first error of a write.
func (f *File) Failure() error { return f.Recorder.err }

// Keep completes the file and gives it its name.
func (f *File) Keep() error {
	var err error
	if f.zip != nil {
		err = f.zip.Close()
	}
	if !f.direct() {
		err = errors.Join(err, f.file.Sync())
	}
	if err = errors.Join(err, f.close()); err == nil && !f.direct() {
		err = os.Rename(f.file.Name(), f.name)
	}
	if err != nil {
		return fileError(f.path, err)
	}
	f.file = nil
	return nil
}

// Abandon removes the incomplete file. It does nothing if Keep has succeeded.
func (f *File) Abandon() {
	if f.file == nil {
		return
	}
	_ = f.close()
	if !f.direct() {
		os.Remove(f.file.Name())
	}
}

func (f *File) close() error {
	if f.stream {
		return nil
	}
	return f.file.Close()
}

// NewRecorder returns a recorder that writes to out. path names out in errors.
func NewRecorder(out io.Writer, path string) *Recorder { return &Recorder{out: out, path: path} }

// Recorder is a writer that remembers its first error, because io.TeeReader reports a failed write as a failed read.
type Recorder struct {
	out  io.Writer
	path string
	err  error
}

// Write implements io.Writer.
func (r *Recorder) Write(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.out.Write(p)
	if err != nil {
		r.err = fileError(r.path, err)
	}
	return n, r.err
}

// Failure returns the first error of a write.
func (r *Recorder) Failure() error { return r.err }

func isFile(f *os.File, info fs.FileInfo) bool {
	own, err := f.Stat()
	return err == nil && os.SameFile(own, info)
}

// followLinks returns the path to which symbolic links lead. The last element of that path may be missing.
func followLinks(path string) (string, error) {
	const most = 40 // the same limit as in Linux
	for range most {
		dir, base := filepath.Split(path)
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, base)
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil // the path does not exist or is not a link
		}
		if path = link; !filepath.IsAbs(link) {
			path = dir + string(filepath.Separator) + link // do not use filepath.Join, which would remove .. before links are followed
		}
	}
	return "", errors.New("too many symbolic links")
}

// fileError rewords an error about a File, so that it contains the path that the user gave and not the path of a temporary file.
func fileError(path string, err error) error {
	if e := (*fileFailure)(nil); errors.As(err, &e) {
		return e
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if e := (*os.LinkError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return &fileFailure{path, err}
}

// fileFailure means that a File cannot be written.
type fileFailure struct {
	path string
	err  error
}

func (e *fileFailure) Error() string {
	if errors.Is(e.err, fs.ErrNotExist) {
		return fmt.Sprintf("cannot write %s: its directory does not exist: create the directory, or name another file", e.path)
	}
	return fmt.Sprintf("write %s: %v", e.path, e.err)
}

func (e *fileFailure) Unwrap() error { return e.err }
