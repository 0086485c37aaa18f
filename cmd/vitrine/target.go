package main

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

// target is the file that an export or a backup writes. A regular file gets its name only when the file is complete. Only the owner of the
// file can read it, because it contains personal data. If the path is a symbolic link, the file replaces the target of the link. A device,
// a pipe or a socket receives the content directly.
type target struct {
	io.Writer
	path string // the path that the user gave
	// summary is the output for the command's summary. It is standard error if the content goes to a stream, a pipe or a device, because
	// that may be standard output.
	summary io.Writer
	zip     *gzip.Writer
	out     *recorder
	file    *os.File // nil after keep
	// name is the name that the file gets when it is complete; "" if the target writes to an existing file that is not regular.
	name string
	// stream means that the file is standard output or standard error of the command. The target does not close it.
	stream bool
}

// incompletePrefix is the beginning of the name of an incomplete file.
const incompletePrefix = ".vitrine-export-"

// createTarget opens the file at path. If path is the same file as standard output or standard error of the command, such as
// /dev/stdout, the target writes to that stream.
func createTarget(path string, stdout, stderr io.Writer) (*target, error) {
	t := &target{path: path, summary: stdout}
	if err := t.open(stdout, stderr); err != nil {
		return nil, targetError(path, err)
	}
	if t.direct() {
		t.summary = stderr
	}
	t.out = &recorder{out: t.file, path: path}
	t.Writer = t.out
	if strings.HasSuffix(path, ".gz") {
		t.zip = gzip.NewWriter(t.out)
		t.Writer = t.zip
	}
	return t, nil
}

func (t *target) open(streams ...io.Writer) error {
	there, err := os.Stat(t.path)
	if err == nil && there.IsDir() {
		return errors.New("it is a directory: name a file in it, or another file")
	}
	if err == nil {
		for _, s := range streams {
			if file, ok := s.(*os.File); ok && isFile(file, there) {
				t.file, t.stream = file, true
				return nil
			}
		}
	}
	if err != nil || there.Mode().IsRegular() {
		if t.name, err = followLinks(t.path); err != nil {
			return err
		}
		// A link in /proc to an open file contains the path that the file had when it was opened. By now, this path may belong to another
		// file, or to no file.
		if named, err := os.Stat(t.name); there != nil && (err != nil || !os.SameFile(there, named)) {
			t.name = ""
		}
	}
	if t.direct() {
		t.file, err = os.OpenFile(t.path, os.O_WRONLY, 0)
	} else {
		t.file, err = os.CreateTemp(filepath.Dir(t.name), incompletePrefix+"*")
	}
	return err
}

// direct reports whether the content is written directly to a device, a pipe, a socket or a stream of the command.
func (t *target) direct() bool { return t.name == "" }

// failure returns the first error of a write.
func (t *target) failure() error { return t.out.err }

func (t *target) keep() error {
	var err error
	if t.zip != nil {
		err = t.zip.Close()
	}
	if !t.direct() {
		err = errors.Join(err, t.file.Sync())
	}
	if err = errors.Join(err, t.close()); err == nil && !t.direct() {
		err = os.Rename(t.file.Name(), t.name)
	}
	if err != nil {
		return targetError(t.path, err)
	}
	t.file = nil
	return nil
}

// abandon removes the incomplete file. It does nothing if keep has succeeded.
func (t *target) abandon() {
	if t.file == nil {
		return
	}
	_ = t.close()
	if !t.direct() {
		os.Remove(t.file.Name())
	}
}

func (t *target) close() error {
	if t.stream {
		return nil
	}
	return t.file.Close()
}

// recorder is a writer that remembers its first error, because io.TeeReader reports a failed write as a failed read.
type recorder struct {
	out  io.Writer
	path string
	err  error
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.out.Write(p)
	if err != nil {
		r.err = targetError(r.path, err)
	}
	return n, r.err
}

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

// targetError rewords an error about a target, so that it contains the path that the user gave and not the path of a temporary file.
func targetError(path string, err error) error {
	if e := (*targetFailure)(nil); errors.As(err, &e) {
		return e
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if e := (*os.LinkError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return &targetFailure{path, err}
}

// targetFailure means that a target cannot be written.
type targetFailure struct {
	path string
	err  error
}

func (e *targetFailure) Error() string {
	if errors.Is(e.err, fs.ErrNotExist) {
		return fmt.Sprintf("cannot write %s: its directory does not exist: create the directory, or name another file", e.path)
	}
	return fmt.Sprintf("write %s: %v", e.path, e.err)
}

func (e *targetFailure) Unwrap() error { return e.err }
