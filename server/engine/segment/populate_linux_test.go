package segment

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPopulate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.seg")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Merge([]Part{{Segment: build(t, benchDocs(3000))}}, file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	size, before := residence(t, path)
	s.Populate()
	_, after := residence(t, path)
	if before >= size || after != size {
		t.Errorf("kB of the mapped file in the page tables: %d of %d after Open, %d after Populate; expected fewer than all, then all", before, size, after)
	}
}

// residence returns the size of the mapping of a file, and the part that is in the page tables of this process, both in kB.
func residence(t *testing.T, path string) (size, resident int) {
	t.Helper()
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	found := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasSuffix(line, path):
			found = true
		case found && strings.HasPrefix(line, "Size:"):
			_, err = fmt.Sscanf(line, "Size: %d kB", &size)
		case found && strings.HasPrefix(line, "Rss:"):
			if _, err := fmt.Sscanf(line, "Rss: %d kB", &resident); err != nil {
				t.Fatal(err)
			}
			return size, resident
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("%s is not mapped", path)
	return 0, 0
}
