package store

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Environment variables that tell the child process of the crash test in which directory to write, and with which number to begin.
const (
	crashDir   = "VITRINE_CRASH_DIR"
	crashFirst = "VITRINE_CRASH_FIRST"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := writeUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// crashItems is the number of items in one write. The same write also adds a tag to the items.
const crashItems = 3

// writeUntilKilled writes numbered groups of items with four goroutines, and prints the number of each group after the store has
// acknowledged it.
func writeUntilKilled(dir string) error {
	first, err := strconv.Atoi(os.Getenv(crashFirst))
	if err != nil {
		return err
	}
	l, err := open(Options{Dir: dir})
	if err != nil {
		return err
	}
	if _, err := l.Apply(context.Background(), []library.Definition{shopProperty()}); err != nil {
		return err
	}
	numbers := make(chan int)
	errs := make(chan error)
	for range 4 {
		go func() {
			for n := range numbers {
				muts := []library.Mutation{}
				ids := []item.ID{}
				for i := range crashItems {
					m := post(fmt.Sprintf("group%d", n))
					m.Put.ID = int64(n*crashItems + i + 1)
					muts, ids = append(muts, m), append(ids, m.Put.ID)
				}
				muts = append(muts, library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: "bold"}, IDs: ids})
				outcomes, err := l.Write(context.Background(), shop, muts)
				for _, o := range outcomes {
					if err == nil {
						err = o.Err
					}
				}
				if err != nil {
					errs <- err
					return
				}
				// Use one write call for each number, so that a printed line is always complete.
				if _, err := os.Stdout.WriteString(strconv.Itoa(n) + "\n"); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	for n := first; ; n++ {
		select {
		case numbers <- n:
		case err := <-errs:
			return err
		}
	}
}

// TestNothingAcknowledgedIsLost repeatedly starts a process that writes to the same store, and kills it at a random instant. The store must
// contain every acknowledged group of items, and each stored item must have its history. A follower of the changes, which continues after
// each crash from its last position, must see every stored item.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	const rounds = 20
	dir := t.TempDir()
	acknowledged := map[int]bool{}
	followed := followed{seen: map[item.ID]bool{}}
	first := 0
	for round := range rounds {
		highest := crash(t, dir, first, acknowledged, time.Duration(rand.IntN(40_000))*time.Microsecond)
		first = max(first, highest+10) // skip the numbers of the groups that were in progress
		checkGroups(t, dir, round, first, acknowledged, &followed)
		if t.Failed() {
			return
		}
	}
	if len(acknowledged) < rounds {
		t.Errorf("only %d groups were acknowledged in %d rounds", len(acknowledged), rounds)
	}
}

// TestTheHolderIsNamed opens a store that another process has open. The error must describe that process.
func TestTheHolderIsNamed(t *testing.T) {
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), crashDir+"="+dir, crashFirst+"=0")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if !bufio.NewScanner(out).Scan() { // wait for the first line, which the child prints only after it has opened the store
		t.Error("the child says nothing")
	}
	_, err = open(Options{Dir: dir})
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != child.Process.Pid {
		t.Errorf("error %v, want a *LockedError with process %d", err, child.Process.Pid)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	mustOpen(t, Options{Dir: dir})
}

// crash runs the child, kills it when the duration after has passed since its first acknowledgment, and returns the highest number that it
// acknowledged.
func crash(t *testing.T, dir string, first int, acknowledged map[int]bool, after time.Duration) int {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), crashDir+"="+dir, crashFirst+"="+strconv.Itoa(first))
	var complaints strings.Builder
	child.Stderr = &complaints
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	highest := first
	var once sync.Once
	var killing sync.WaitGroup
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("the child says %q", lines.Text())
		}
		acknowledged[n] = true
		highest = max(highest, n)
		once.Do(func() {
			killing.Go(func() {
				<-time.After(after)
				_ = child.Process.Signal(syscall.SIGKILL) // ignore the error: if the child has ended by itself, Wait shows it
			})
		})
	}
	killing.Wait()
	if err := child.Wait(); err == nil || complaints.Len() > 0 {
		t.Fatalf("the child ended by itself: %v\n%s", err, complaints.String())
	}
	return highest
}

// followed is the state of a follower. Position is "" at first, which stands for the beginning.
type followed struct {
	position library.Position
	seen     map[item.ID]bool
}

func checkGroups(t *testing.T, dir string, round, last int, acknowledged map[int]bool, f *followed) {
	t.Helper()
	l, err := open(Options{Dir: dir})
	if err != nil {
		t.Fatalf("round %d: open after the kill: %v", round, err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Errorf("round %d: close: %v", round, err)
		}
	}()
	f.position = follow(t, l, cmp.Or(f.position, position{journal: l.served.journal}.text()), f.seen)
	items, tagged := map[string]int{}, map[string]int{}
	for it, err := range l.Items(t.Context(), shop) {
		if err != nil {
			t.Fatalf("round %d: read the items: %v", round, err)
		}
		items[it.Content.Text]++
		if !f.seen[it.ID] {
			t.Errorf("round %d: the journal does not contain item %d", round, it.ID)
		}
		if slices.Contains(it.Tags, item.Tag{Namespace: "vibe", Key: "bold"}) {
			tagged[it.Content.Text]++
		}
		if h, err := l.History(t.Context(), shop, it.ID); err != nil || len(h) != 2 || h[0].Action != library.Tagged || h[1].Action != library.Created {
			t.Errorf("round %d: the history of item %d: %+v, %v", round, it.ID, h, err)
		}
	}
	for n := range last {
		group := fmt.Sprintf("group%d", n)
		whole := items[group] == crashItems && tagged[group] == crashItems
		if !whole && acknowledged[n] || items[group] != tagged[group] || !whole && items[group] != 0 {
			t.Errorf("round %d: group %d, acknowledged: %t, has %d items and %d tags of %d", round, n, acknowledged[n], items[group], tagged[group], crashItems)
		}
	}
	if n := total(t, l, ""); n != int64(sum(items)) || l.Count(shop) != n {
		t.Errorf("round %d: the index has %d items, the store counts %d and has %d", round, n, l.Count(shop), sum(items))
	}
}

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// TestPowerFailure interrupts a store at random instants, as if the power failed: of the data that was not synced, a random part is on the
// disk. Open must not refuse the store, which must contain every acknowledged item.
func TestPowerFailure(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		disk := vfs.NewCrashableMem()
		root, err := disk.OpenDir("/")
		if err == nil {
			err = errors.Join(disk.MkdirAll("store", 0o700), root.Sync())
		}
		if err != nil {
			t.Fatal(err)
		}
		l := mustOpen(t, Options{Dir: "store", FS: disk})
		first, acknowledged := now(t, l), int64(0)
		for range 40 {
			switch random.IntN(5) {
			case 0:
				if _, err := l.db.pebble.AsyncFlush(); err != nil {
					t.Fatal(err)
				}
			case 1:
				failed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
				after, err := open(Options{Dir: "store", FS: failed})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				seen := map[item.ID]bool{}
				follow(t, after, first, seen)
				if n := after.State(t.Context()).Items; n != acknowledged || int64(len(seen)) != n {
					t.Errorf("seed %d: %d items and changes of %d after a power failure, want %d", seed, n, len(seen), acknowledged)
				}
				if random.IntN(2) == 0 { // the power fails again, during or after the next start
					failed = failed.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
					if err := after.Close(); err != nil {
						t.Fatal(err)
					}
					after = mustOpen(t, Options{Dir: "store", FS: failed})
					if n := after.State(t.Context()).Items; n != acknowledged {
						t.Errorf("seed %d: %d items after two power failures, want %d", seed, n, acknowledged)
					}
				}
				if err := after.Close(); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = mustOpen(t, Options{Dir: "store", FS: disk})
			default:
				write(t, l, post("sunset"))
				acknowledged++
			}
		}
	}
}
