package segment

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRoom opens files until they need more memory than their room has, and closes them again. The kernel must know whether to read ahead.
func TestRoom(t *testing.T) {
	var list []string
	for range 2 {
		path := filepath.Join(t.TempDir(), "items.seg")
		if err := os.WriteFile(path, file(t, build(t, benchDocs(500))), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, path)
	}
	size := int64(len(file(t, build(t, benchDocs(500)))))
	told := false
	room := NewRoom(size+size/2, func(short bool) { told = short })
	open := func(path string) *Segment {
		s, err := Open(path, room)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	check := func(when string, want bool) {
		t.Helper()
		if told != want {
			t.Errorf("%s: the room tells that it is too small: %t, want %t", when, told, want)
		}
		for _, path := range list {
			if got, mapped := readsSingly(t, path); mapped && got != want {
				t.Errorf("%s: %s is read without the pages around: %t, want %t", when, path, got, want)
			}
		}
	}
	first := open(list[0])
	check("one file", false)
	second := open(list[1])
	check("two files", true)
	var ahead Ahead
	for doc := range uint32(second.Len()) {
		ahead.Add(second, doc)
	}
	ahead.Read()
	for doc := range uint32(second.Len()) {
		if second.Stored(doc).Packed() == nil {
			t.Fatalf("document %d is damaged", doc)
		}
	}
	if err := second.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	check("one file is closed", false)
	first = open(list[0])
	check("two files again", true)
	if first.Populate(); room.used != 2*size {
		t.Errorf("the room has %d bytes of files, want %d", room.used, 2*size)
	}
	if NewRoom(0, nil) != nil {
		t.Error("a room of 0 bytes is not large enough")
	}
}

// readsSingly reports whether the kernel reads only the accessed pages of all parts of a file, and whether the file is mapped.
func readsSingly(t *testing.T, path string) (singly, mapped bool) {
	t.Helper()
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer smaps.Close()
	singly = true
	inside := false // whether the line describes a part of the file
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		if strings.HasSuffix(line, path) {
			mapped, inside = true, true
		} else if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			singly, inside = singly && slices.Contains(strings.Fields(flags), "rr"), false
		}
	}
	return singly && mapped, mapped
}
