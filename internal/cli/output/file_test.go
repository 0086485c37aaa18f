package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// put writes content to a target, and then calls keep. stdout is the standard output of the command.
func put(path, content string, stdout io.Writer) error {
	f, err := Create(path, stdout, io.Discard)
	if err != nil {
		return err
	}
	defer f.Abandon()
	if _, err := io.WriteString(f, content); err != nil {
		return err
	}
	return f.Keep()
}

func TestTargetFollowsSymbolicLinks(t *testing.T) {
	for name, tc := range map[string]struct{ link, file string }{
		"to a file":                     {"data/old", "data/old"},
		"to a missing file":             {"data/new", "data/new"},
		"to a link":                     {"second", "data/old"},
		"through .. of a linked folder": {"folder/../top", "data/top"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := errors.Join(
				os.MkdirAll(filepath.Join(dir, "data", "deep"), 0o700),
				os.WriteFile(filepath.Join(dir, "data", "old"), []byte("old"), 0o600),
				os.Symlink("data/deep", filepath.Join(dir, "folder")),
				os.Symlink(filepath.Join(dir, "data", "old"), filepath.Join(dir, "second")),
				os.Symlink(tc.link, filepath.Join(dir, "link")),
			)
			if err != nil {
				t.Fatal(err)
			}
			if err := put(filepath.Join(dir, "link"), "content", io.Discard); err != nil {
				t.Fatal(err)
			}
			if got, err := os.Readlink(filepath.Join(dir, "link")); got != tc.link {
				t.Errorf("the link names %q, %v; want %q", got, err, tc.link)
			}
			if got, err := os.ReadFile(filepath.Join(dir, tc.file)); string(got) != "content" {
				t.Errorf("the file has %q, %v", got, err)
			}
			left, err := filepath.Glob(filepath.Join(dir, "*", ".vitrine-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

func TestTargetWritesPipeDirectly(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("pipe", link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link} {
		// Open the pipe for reading and writing, so that the open does not block, and reads do not return the end of the file between two
		// writers.
		r, err := os.OpenFile(pipe, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := put(path, "content", io.Discard); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Type() != os.ModeNamedPipe {
			t.Fatalf("%s is %v, %v; want a pipe", path, info.Mode(), err)
		}
		got := make([]byte, len("content"))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != "content" {
			t.Errorf("%s passed on %q, %v", path, got, err)
		}
		r.Close()
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v, %v; want the pipe and the link", left, err)
	}
}

// TestTargetThatIsAStream checks that a target with the path of standard output writes at the current position of standard output, and does
// not close it.
func TestTargetThatIsAStream(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stdout")
	stdout, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	_, before := io.WriteString(stdout, "before ")
	during := put(path, "content", stdout)
	_, after := io.WriteString(stdout, " after")
	if err := errors.Join(before, during, after); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); string(got) != "before content after" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTargetThatCannotBeWritten checks that errors name the path that the user gave, and that no file is left behind.
func TestTargetThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		os.Symlink("folder", filepath.Join(dir, "to-folder")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		os.Symlink("nowhere/file", filepath.Join(dir, "dangling")),
	); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"folder":    "it is a directory: name a file in it, or another file",
		"to-folder": "it is a directory: name a file in it, or another file",
		"loop":      "too many",
		"dangling":  "its directory does not exist",
	} {
		path := filepath.Join(dir, name)
		_, err := Create(path, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "write "+path+": ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), ".vitrine-") {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	f, err := Create(filepath.Join(dir, "file"), io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	f.file.Close()
	if _, err := f.Write([]byte("content")); err == nil || err.Error() != "write "+f.path+": file already closed" {
		t.Errorf("error of a write: %v", err)
	}
	if err := f.Keep(); err == nil || strings.Contains(err.Error(), ".vitrine-") {
		t.Errorf("error of keep: %v", err)
	}
	f.Abandon()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 4 {
		t.Errorf("%v, %v; want what the test created", left, err)
	}
}
