package engine

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// kills is the number of processes that TestKilled kills.
var kills = flag.Int("kills", 25, "number of writing processes that TestKilled kills")

// These environment variables are for the child process of TestKilled: the directory of the store, and the number of the first group to
// write.
const (
	killDir   = "VITRINE_KILL_DIR"
	killFirst = "VITRINE_KILL_FIRST"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		if err := writeUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const killShop library.PropertyID = "shop/default"

// openToKill opens a library that seals and merges segments frequently.
func openToKill(dir string) (*Library, error) {
	l, err := Open(Options{Dir: dir, sealDocs: 60, memoryParts: 3, fanIn: 3, maxDocs: 2000})
	if err != nil {
		return nil, err
	}
	_, err = l.Apply(context.Background(), []library.Definition{{
		Property: killShop, Owner: library.Owner{Install: "i", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 1},
	}})
	return l, err
}

// killItems is the number of items in a group. Each write creates a group. The same write replaces one item of the previous group and
// deletes another.
const killItems = 3

func killMutations(n int) []library.Mutation {
	put := func(group, i int, text string) library.Mutation {
		return library.Mutation{Replace: true, Put: &item.Item{
			ID: item.ID(group*killItems + i + 1), ApprovalStatus: item.Approved, CreatedOn: fmt.Sprintf("2026-01-%02dT00:00:00Z", 1+(group*7+i)%28),
			Content: item.Content{ContentType: item.Text, Text: text},
		}}
	}
	var muts []library.Mutation
	for i := range killItems {
		muts = append(muts, put(n, i, fmt.Sprintf("fresh%d", n)))
	}
	return append(muts, put(n-1, 0, fmt.Sprintf("again%d", n)), library.Mutation{Delete: true, ID: item.ID((n-1)*killItems + 2)})
}

// writeUntilKilled writes one group of items after the other. After each acknowledged write, it prints the number of the group.
func writeUntilKilled(dir string) error {
	first, err := strconv.Atoi(os.Getenv(killFirst))
	if err != nil {
		return err
	}
	l, err := openToKill(dir)
	if err != nil {
		return err
	}
	for n := first; ; n++ {
		outcomes, err := l.Write(context.Background(), killShop, killMutations(n))
		if err != nil {
			return err
		}
		for _, o := range outcomes[:killItems+1] {
			if o.Err != nil {
				return o.Err
			}
		}
		// Print each line with one system call, so that a kill does not leave a partial line.
		if _, err := os.Stdout.WriteString(strconv.Itoa(n) + "\n"); err != nil {
			return err
		}
	}
}

// TestKilled repeatedly kills a process that writes, seals and merges. All processes use the same store. After each kill, the index and
// the store must agree and contain all acknowledged writes. The write in progress must be complete or absent.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	last := 0 // the last acknowledged group
	for round := range *kills {
		acknowledged := killOnce(t, dir, last+1, time.Duration(rand.IntN(60_000))*time.Microsecond)
		last = checkKilled(t, dir, round, max(last, acknowledged))
		if t.Failed() {
			return
		}
	}
	if last < *kills {
		t.Errorf("only %d groups were acknowledged in %d rounds", last, *kills)
	}
}

// killOnce runs the child process and kills it when the duration `after` has passed since the first acknowledged group. It returns the
// number of the last acknowledged group.
func killOnce(t *testing.T, dir string, first int, after time.Duration) int {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), killDir+"="+dir, killFirst+"="+strconv.Itoa(first))
	var complaints strings.Builder
	child.Stderr = &complaints
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last := 0
	var once sync.Once
	var killing sync.WaitGroup
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatalf("the child printed %q", lines.Text())
		}
		once.Do(func() {
			killing.Go(func() {
				<-time.After(after)
				_ = child.Process.Signal(syscall.SIGKILL) // the child does not end on its own
			})
		})
	}
	killing.Wait()
	if err := child.Wait(); err == nil || complaints.Len() > 0 {
		t.Fatalf("the child ended by itself: %v\n%s", err, complaints.String())
	}
	return last
}

// checkKilled opens the store after a kill, and compares the index and the store with the acknowledged groups. It returns the last group
// that exists. The write of this group may have been in progress when the process was killed.
func checkKilled(t *testing.T, dir string, round, acknowledged int) int {
	t.Helper()
	l, err := openToKill(dir)
	if err != nil {
		t.Fatalf("round %d: open after the kill: %v", round, err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Errorf("round %d: close: %v", round, err)
		}
	}()
	stored := map[item.ID]string{}
	for it, err := range l.store.Items(t.Context(), killShop) {
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		stored[it.ID] = it.Content.Text
	}
	last := acknowledged
	if stored[item.ID((acknowledged+1)*killItems+1)] != "" {
		last++
	}
	want := map[item.ID]string{}
	for n := 1; n <= last; n++ {
		for i := range killItems {
			want[item.ID(n*killItems+i+1)] = fmt.Sprintf("fresh%d", n)
		}
		want[item.ID((n-1)*killItems+1)] = fmt.Sprintf("again%d", n)
		delete(want, item.ID((n-1)*killItems+2))
	}
	if len(stored) != len(want) {
		t.Errorf("round %d: the store holds %d items, want %d", round, len(stored), len(want))
	}
	for id, text := range want {
		if stored[id] != text {
			t.Errorf("round %d: item %d is %q in the store, want %q", round, id, stored[id], text)
		}
	}
	count := func(n query.Node) int64 {
		page, err := l.Read(t.Context(), library.Read{Property: killShop, Audience: query.Private, Query: n, Limit: 1})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		return page.Total
	}
	if n := count(query.All{}); n != int64(len(want)) {
		t.Errorf("round %d: the index holds %d items, want %d", round, n, len(want))
	}
	for n := max(1, last-40); n <= last; n++ {
		fresh := int64(killItems - 2) // the write of the next group replaces one of the items and deletes another
		if n == last {
			fresh = killItems
		}
		if got := count(query.FieldTerm("text", fmt.Sprintf("fresh%d", n))); got != fresh {
			t.Errorf("round %d: %d items of group %d, the last is %d, want %d", round, got, n, last, fresh)
		}
		if got := count(query.FieldTerm("text", fmt.Sprintf("again%d", n))); got != 1 {
			t.Errorf("round %d: %d items that group %d replaced, want 1", round, got, n)
		}
	}
	return last
}
