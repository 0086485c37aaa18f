package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/exit"
)

// followedItems applies the lines of vitrine changes until a cursor line follows that until accepts. It returns that cursor.
func followedItems(t *testing.T, lines *bufio.Reader, items map[int64]string, until func() bool) string {
	t.Helper()
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var line changeLine
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		switch line.Change {
		case "reset":
			clear(items)
		case "upsert":
			items[line.ID] = string(line.Item)
		case "remove":
			delete(items, line.ID)
		}
		if line.Cursor != "" && until() {
			return line.Cursor
		}
	}
}

// TestChangesFollow follows a query during a restart of the server, and compares the followed items with a list.
func TestChangesFollow(t *testing.T) {
	dir := newStore(t)
	s := start(t, dir)
	s.environment(t)
	address := s.addresses["https"]
	vitrine(t.Context(), itemLines(1, 20), "import", "-").want(t, 0, "20 added")

	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		ended <- execute(ctx, "vitrine", []string{"changes", "--query", "id:[1 TO 25]", "--items", "--follow", "--page-size", "7"}, strings.NewReader(""), w, &stderr)
		w.Close()
	}()
	lines, items := bufio.NewReader(r), map[int64]string{}
	followedItems(t, lines, items, func() bool { return len(items) == 20 })
	vitrine(t.Context(), itemLines(21, 10), "import", "-").want(t, 0, "10 added")
	followedItems(t, lines, items, func() bool { return len(items) == 25 })

	s.signal(syscall.SIGKILL)
	s = start(t, dir, "--https-bind-address", address)
	vitrine(t.Context(), `{"id":5,"content_type":"text","caption":"later"}`, "import", "--on-conflict", "replace", "-").want(t, 0, "1 replaced")
	vitrine(t.Context(), itemLines(31, 1), "import", "-").want(t, 0, "1 added")
	cursor := followedItems(t, lines, items, func() bool { return strings.Contains(items[5], "later") })
	cancel()
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d after an interruption: %s", code, &stderr)
	}

	// A later call continues from the cursor, and ends when nothing is left.
	rest := vitrine(t.Context(), "", "changes", "--query", "id:[1 TO 25]", "--items", "--since", cursor)
	rest.want(t, 0, `{"cursor":"`)
	followedItems(t, bufio.NewReader(strings.NewReader(rest.stdout)), items, func() bool { return true })
	whole := vitrine(t.Context(), "", "changes", "--query", "id:[1 TO 25]", "--items")
	whole.want(t, 0, `{"change":"reset"}`)
	listed := map[int64]string{}
	followedItems(t, bufio.NewReader(strings.NewReader(whole.stdout)), listed, func() bool { return true })
	if diff := cmp.Diff(listed, items); diff != "" || len(listed) != 25 {
		t.Errorf("%d items; -listed +followed:\n%s", len(listed), diff)
	}
	if code := s.signal(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d of the server", code)
	}
}

// TestChangesOfAnUnreachableServer checks that a user of --follow sees why nothing happens.
func TestChangesOfAnUnreachableServer(t *testing.T) {
	t.Setenv("VITRINE_SERVER", "http://127.0.0.1:1")
	t.Setenv("VITRINE_TOKEN", "a-token-of-no-server")
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, "vitrine", []string{"changes", "-q", "*:*", "--follow"}, strings.NewReader(""), io.Discard, w)
		w.Close()
	}()
	stderr := bufio.NewReader(r)
	line, err := stderr.ReadString('\n')
	if err != nil || !strings.Contains(line, "cannot reach http://127.0.0.1:1") || !strings.Contains(line, "; retrying in ") {
		t.Errorf("standard error is %q (%v)", line, err)
	}
	cancel()
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d after an interruption", code)
	}
}

func TestChanges(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 3), "import", "-").want(t, 0, "3 added")
	first := vitrine(t.Context(), "", "changes", "-q", "*:*")
	first.want(t, 0, `{"change":"reset"}`)
	if strings.Contains(first.stdout, "upsert") {
		t.Errorf("without --items, a reset is followed by items: %s", first.stdout)
	}
	var cursor string
	for line := range strings.Lines(first.stdout) {
		var parsed changeLine
		if err := json.Unmarshal([]byte(line), &parsed); err != nil {
			t.Fatal(err)
		}
		cursor = parsed.Cursor
	}
	vitrine(t.Context(), itemLines(4, 1), "import", "-").want(t, 0, "1 added")
	vitrine(t.Context(), "", "changes", "-q", "*:*", "--since", cursor).want(t, 0, `{"change":"upsert","id":4}`, `{"cursor":"`)
	vitrine(t.Context(), "", "changes", "-q", "id:1", "--since", cursor).want(t, exit.Failed, "does not belong to this filter or query")
	vitrine(t.Context(), "", "changes", "--filter", "17").want(t, exit.Failed, "no filter of this property has this id")
	vitrine(t.Context(), "", "changes", "--filter", "wall").want(t, exit.Failed, "the server serves no ContentFilter")
	vitrine(t.Context(), "", "changes").want(t, exit.Usage, "pass either --filter or --query")
	vitrine(t.Context(), "", "changes", "-q", "a", "--filter", "17").want(t, exit.Usage, "pass either --filter or --query")
	vitrine(t.Context(), "", "changes", "-q", "a", "--page-size", "501").want(t, exit.Usage, "must be from 1 to 500")
}
