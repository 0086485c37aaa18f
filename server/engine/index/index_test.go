package index_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/store"
)

const shop library.PropertyID = "shop/default"

// follower connects one index to a real store.
type follower struct {
	t       testing.TB
	options index.Options
	x       *index.Index
	fs      vfs.FS
	passing bool // whether batches bypass the index
}

var _ store.Index = (*follower)(nil)

func (f *follower) Load(s *store.Store) error {
	if f.x != nil {
		f.x.Abandon()
		f.x = nil
	}
	f.options.Store, f.options.Property, f.options.Dir = s, shop, "data/index"
	o := f.options
	o.FS = f.fs
	var err error
	f.x, err = index.Open(context.Background(), o)
	return err
}

func (f *follower) Prepare(c *store.Change, keys *store.IndexBatch) (func(), error) {
	if len(c.Properties) == 0 {
		return func() {}, nil
	}
	pc := c.Properties[0]
	if f.passing {
		return func() {}, index.Pass(f.options.Store, pc.Property, c.Version, keys)
	}
	p, err := f.x.Prepare(c.Version, pc.Items, keys)
	return p.Install, err
}

func (f *follower) TagOwner(library.PropertyID, item.Tag, item.ID) (library.Owner, bool, error) {
	return library.Owner{}, false, nil
}

func (f *follower) Erase(ctx context.Context) error { return f.x.Erase(ctx) }

func (f *follower) Close() { f.x.Close() }

// world holds a store with an index, and the expected content of the index.
type world struct {
	t     testing.TB
	fs    *vfs.MemFS
	f     *follower
	store *store.Store
	items map[item.ID]string
}

func newWorld(t testing.TB, adjust func(*index.Options)) *world {
	w := &world{t: t, fs: vfs.NewCrashableMem(), items: map[item.ID]string{}}
	// The directory exists before the store is opened, as on a volume.
	if err := w.fs.MkdirAll("data", 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := w.fs.OpenDir("")
	if err == nil {
		err = errors.Join(root.Sync(), root.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	w.f = &follower{t: t, fs: w.fs, options: index.Options{SealDocs: 40, MemoryParts: 3, FanIn: 3, MaxDocs: 400}}
	if adjust != nil {
		adjust(&w.f.options)
	}
	w.open()
	w.apply(library.Definition{
		Property: shop, Owner: library.Owner{Install: "i", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 1},
	})
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.store, err = store.Open(store.Options{Dir: "data", FS: w.fs, Logger: slog.New(slog.DiscardHandler)}, w.f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) close() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) apply(d library.Definition) {
	w.t.Helper()
	results, err := w.store.Apply(context.Background(), []library.Definition{d})
	if err != nil || results[0].Err != nil {
		w.t.Fatal(err, results)
	}
}

func (w *world) put(ids ...item.ID) {
	w.t.Helper()
	var muts []library.Mutation
	for _, id := range ids {
		text := fmt.Sprintf("text of item %d, version %d", id, rand.Uint32())
		w.items[id] = text
		muts = append(muts, library.Mutation{Replace: true, Put: &item.Item{
			ID: id, ApprovalStatus: "app", CreatedOn: fmt.Sprintf("2026-01-%02dT00:00:00Z", 1+id%28),
			Content: item.Content{ContentType: "text", Text: text},
		}})
	}
	w.write(muts)
}

func (w *world) remove(ids ...item.ID) {
	w.t.Helper()
	var muts []library.Mutation
	for _, id := range ids {
		delete(w.items, id)
		muts = append(muts, library.Mutation{Delete: true, ID: id})
	}
	w.write(muts)
}

func (w *world) write(muts []library.Mutation) {
	w.t.Helper()
	outcomes, err := w.store.Write(context.Background(), shop, muts)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			w.t.Fatal(o.Err)
		}
	}
}

// check compares the snapshot with the expected content.
func (w *world) check() {
	w.t.Helper()
	s := w.f.x.Acquire()
	defer s.Release()
	got := map[item.ID]string{}
	for _, p := range s.Parts() {
		for doc := range uint32(p.Segment.Len()) {
			if p.Dead != nil && p.Dead.Contains(doc) {
				continue
			}
			id := p.Segment.ID(doc)
			if _, twice := got[id]; twice {
				w.t.Errorf("item %d has two live documents", id)
			}
			got[id] = textOf(p.Segment.Item(doc))
		}
	}
	if !maps.Equal(got, w.items) {
		w.t.Fatalf("the index holds %d items, want %d", len(got), len(w.items))
	}
}

func textOf(p item.Packed) string {
	response, _ := new(item.Unpacker).Append(nil, p, query.Public, item.Slots{})
	_, rest, _ := bytes.Cut(response, []byte(`"text":"`))
	text, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(text)
}

// eventually waits until the Stats of the index fulfill the condition `holds`. `what` describes the condition.
func (w *world) eventually(what string, holds func(index.Stats) bool) {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	for !holds(w.f.x.Stats()) {
		select {
		case <-deadline:
			w.t.Fatalf("timeout while waiting until %s: %+v", what, w.f.x.Stats())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// crash simulates a loss of power. It clones the disk with a random part of the unsynced data, and opens the store and the index from the
// clone.
func (w *world) crash(rng *rand.Rand) {
	w.t.Helper()
	after := w.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
	w.close()
	w.fs, w.f.fs, w.f.x = after, after, nil
	w.open()
}

func sequence(from, to item.ID) []item.ID {
	var ids []item.ID
	for id := from; id <= to; id++ {
		ids = append(ids, id)
	}
	return ids
}

// TestModel performs random operations (put, replace, delete, seal, erase, reopen, crash). It compares the index with the expected
// content.
func TestModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, nil)
			defer func() { w.close() }()
			for range 150 {
				switch rng.IntN(14) {
				case 0:
					if err := w.f.x.Seal(context.Background()); err != nil {
						t.Fatal(err)
					}
				case 1:
					if err := w.f.x.Erase(context.Background()); err != nil {
						t.Fatal(err)
					}
				case 2:
					w.close()
					w.f.x = nil
					w.open()
				case 3:
					w.crash(rng)
				case 4, 5:
					ids := slices.Sorted(maps.Keys(w.items))
					rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
					w.remove(ids[:rng.IntN(min(len(ids), 20)+1)]...)
				default:
					var ids []item.ID
					for range 1 + rng.IntN(30) {
						if id := 1 + rng.Int64N(500); !slices.Contains(ids, id) {
							ids = append(ids, id)
						}
					}
					w.put(ids...)
				}
				w.check()
			}
		})
	}
}

// TestQuietPeriod checks that similar segments are merged, in memory and in files, when there are no more writes.
func TestQuietPeriod(t *testing.T) {
	w := newWorld(t, func(o *index.Options) { o.SealDocs, o.FanIn, o.MaxDocs = 1000, 100, 1000 })
	defer w.close()
	for n := range item.ID(4) {
		w.put(sequence(200*n+1, 200*n+200)...)
		if n%2 == 1 {
			if err := w.f.x.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.put(801, 802)
	w.put(sequence(1001, 1020)...)
	w.put(sequence(1021, 1040)...)
	w.eventually("similar segments are merged", func(s index.Stats) bool { return s.MemoryParts == 2 && s.Files == 1 })
	w.check()
}

// TestTiers checks that the number of segments and the write amplification stay below their limits.
func TestTiers(t *testing.T) {
	w := newWorld(t, nil)
	defer w.close()
	for id := item.ID(1); id <= 2000; id += 5 {
		w.put(sequence(id, id+4)...)
		if err := w.f.x.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	// MaxDocs is 400. Files with more than MaxDocs/2 documents are not merged again.
	w.eventually("the segments are merged", func(s index.Stats) bool { return s.MemoryParts <= 3 && s.Files <= 9 })
	w.check()
	s := w.f.x.Stats()
	if amplification := float64(s.DocsWritten) / float64(s.DocsIn); s.DocsIn != 2000 || amplification > 8 {
		t.Errorf("each document was written %.1f times: %+v", amplification, s)
	}
	if s.Merges+s.Seals < 10 || s.Problem != nil {
		t.Errorf("%+v", s)
	}
}

// files lists the segment files.
func (w *world) files() []string {
	w.t.Helper()
	names, err := w.fs.List("data/index")
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".seg") })
}

func (w *world) change(name string, f func([]byte) []byte) {
	w.t.Helper()
	path := "data/index/" + name
	in, err := w.fs.Open(path)
	if err != nil {
		w.t.Fatal(err)
	}
	info, err := in.Stat()
	if err != nil {
		w.t.Fatal(err)
	}
	content := make([]byte, info.Size())
	if _, err := in.ReadAt(content, 0); err != nil {
		w.t.Fatal(err)
	}
	out, err := w.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := out.Write(f(content)); err != nil {
		w.t.Fatal(err)
	}
	if err := errors.Join(in.Close(), out.Sync(), out.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// TestDamagedFile checks that a torn, changed or missing file is rebuilt exactly once.
func TestDamagedFile(t *testing.T) {
	damages := map[string]func(w *world, name string){
		"torn":    func(w *world, name string) { w.change(name, func(b []byte) []byte { return b[:len(b)/2] }) },
		"empty":   func(w *world, name string) { w.change(name, func([]byte) []byte { return nil }) },
		"flipped": func(w *world, name string) { w.change(name, func(b []byte) []byte { b[len(b)-200] ^= 4; return b }) },
		"gone": func(w *world, name string) {
			if err := w.fs.Remove("data/index/" + name); err != nil {
				w.t.Fatal(err)
			}
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *index.Options) { o.FanIn = 100 })
			for n := range item.ID(4) {
				w.put(sequence(n*50+1, n*50+50)...)
				if err := w.f.x.Seal(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			w.remove(3, 60, 61)
			w.put(4, 62)
			w.close()
			w.f.x = nil
			files := w.files()
			if len(files) < 4 {
				t.Fatalf("files %v", files)
			}
			damage(w, files[1])
			w.open()
			w.check()
			if s := w.f.x.Stats(); s.Rebuilt != 1 {
				t.Errorf("%+v", s)
			}
			// The next opening finds a complete index.
			w.close()
			w.f.x = nil
			w.open()
			defer w.close()
			w.check()
			if s := w.f.x.Stats(); s.Rebuilt != 0 || slices.Contains(w.files(), files[1]) {
				t.Errorf("%+v %v", s, w.files())
			}
		})
	}
}

// TestDamageWhileServing changes the items of a file while the index is in use. Verify, or a merge that copies the items, must detect the
// damage, and the index must rebuild the file.
func TestDamageWhileServing(t *testing.T) {
	for name, notice := range map[string]func(x *index.Index) error{
		"verified": func(x *index.Index) error { return x.Verify(context.Background(), nil) },
		"erased":   func(x *index.Index) error { return x.Erase(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *index.Options) { o.FanIn = 100 })
			defer func() { w.close() }()
			w.put(sequence(1, 100)...)
			if err := w.f.x.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
			w.remove(10)
			// On this file system, the file is read into memory, so the test can change its bytes in place.
			s := w.f.x.Acquire()
			b := s.Parts()[0].Segment.Item(5)
			b[len(b)/2] ^= 1
			s.Release()
			w.put(300)
			if err := notice(w.f.x); err != nil {
				t.Fatal(err)
			}
			w.check()
			w.eventually("the file is rebuilt", func(s index.Stats) bool { return s.Rebuilt == 1 && s.Dead == 0 })
			w.check()
			w.crash(rand.New(rand.NewPCG(1, 1)))
			w.check()
		})
	}
}

// TestWrittenWithoutIndex checks that the index is rebuilt after the store was written without the index.
func TestWrittenWithoutIndex(t *testing.T) {
	w := newWorld(t, nil)
	w.put(sequence(1, 100)...)
	w.close()
	other, err := store.Open(store.Options{Dir: "data", FS: w.fs, Logger: slog.New(slog.DiscardHandler)}, nothing{})
	if err != nil {
		t.Fatal(err)
	}
	w.store = other
	w.put(50, 200)
	w.remove(7)
	w.close()
	w.f.x = nil
	w.open()
	defer w.close()
	w.check()
}

// nothing is a store.Index that does nothing.
type nothing struct{}

func (nothing) Load(*store.Store) error { return nil }
func (nothing) Prepare(*store.Change, *store.IndexBatch) (func(), error) {
	return func() {}, nil
}
func (nothing) TagOwner(library.PropertyID, item.Tag, item.ID) (library.Owner, bool, error) {
	return library.Owner{}, false, nil
}
func (nothing) Erase(context.Context) error { return nil }
func (nothing) Close()                      {}

// TestErase checks that no file contains bytes of a deleted item after Erase.
func TestErase(t *testing.T) {
	w := newWorld(t, nil)
	defer func() { w.close() }()
	w.put(sequence(1, 100)...)
	secret := "a telltale of item seven"
	w.items[7] = secret
	w.write([]library.Mutation{{Replace: true, Put: &item.Item{ID: 7, Content: item.Content{ContentType: "text", Text: secret}}}})
	if err := w.f.x.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	found := func() bool {
		for _, name := range w.files() {
			hit := false
			w.change(name, func(b []byte) []byte {
				hit = hit || bytes.Contains(b, []byte("telltale"))
				return b
			})
			if hit {
				return true
			}
		}
		return false
	}
	if !found() {
		t.Fatal("the item is in no file")
	}
	w.remove(7)
	if err := w.f.x.Erase(context.Background()); err != nil {
		t.Fatal(err)
	}
	if found() {
		t.Error("a file contains bytes of a deleted item")
	}
	w.check()
}

// TestEraseSubmission checks that no file contains a removed submission after Erase, not even in an earlier version of the item.
func TestEraseSubmission(t *testing.T) {
	w := newWorld(t, func(o *index.Options) { o.FanIn, o.SealDocs = 100, 1000 })
	defer func() { w.close() }()
	put := func(text, submission string) {
		t.Helper()
		w.items[7] = text
		it := &item.Item{ID: 7, Content: item.Content{ContentType: "text", Text: text}}
		if submission != "" {
			it.Submission = []byte(submission)
		}
		w.write([]library.Mutation{{Replace: true, Put: it}})
	}
	for n := range item.ID(2) {
		w.put(sequence(100*n+10, 100*n+40)...)
		put(fmt.Sprint("version ", n), `{"email":"telltale@mail.example"}`)
		if err := w.f.x.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	holding := func() (names []string) {
		for _, name := range w.files() {
			w.change(name, func(b []byte) []byte {
				if bytes.Contains(b, []byte("telltale")) {
					names = append(names, name)
				}
				return b
			})
		}
		return names
	}
	if names := holding(); len(names) != 2 {
		t.Fatalf("files %v hold the submission, want two", names)
	}
	put("version 2", "")
	if err := w.f.x.Erase(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names := holding(); len(names) > 0 {
		t.Errorf("%v hold the removed submission", names)
	}
	w.check()
}

// TestReaders reads snapshots during writes, merges and erasures. A snapshot must not change while a reader holds it.
func TestReaders(t *testing.T) {
	w := newWorld(t, nil)
	w.put(sequence(1, 200)...)
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				s := w.f.x.Acquire()
				count := func() (n int, sum uint64) {
					for _, p := range s.Parts() {
						for doc := range uint32(p.Segment.Len()) {
							if p.Dead == nil || !p.Dead.Contains(doc) {
								n++
								sum += uint64(len(p.Segment.Item(doc))) * uint64(p.Segment.ID(doc))
							}
						}
						if f := p.Segment.Field("content.text"); f != nil {
							for range f.Ascend("") {
								n++
							}
						}
					}
					return n, sum
				}
				n, sum := count()
				if again, sumAgain := count(); n != again || sum != sumAgain {
					t.Error("a snapshot changed")
				}
				s.Release()
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 5))
	for range 60 {
		w.put(1+rng.Int64N(200), 201+rng.Int64N(200))
		ids := slices.Sorted(maps.Keys(w.items))
		w.remove(ids[rng.IntN(len(ids))])
	}
	if err := w.f.x.Erase(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	all.Wait()
	w.check()
	w.close()
}

// dropping is a segment.Derived that calls a function when its segment is closed.
type dropping func()

func (d dropping) Drop() { d() }

// TestOnMerge checks that OnMerge can attach data to a merged segment, and that the data is dropped when the segment is closed.
func TestOnMerge(t *testing.T) {
	var mu sync.Mutex
	open := map[*segment.Segment]bool{}
	merges := 0
	w := newWorld(t, func(o *index.Options) {
		o.OnMerge = func(inputs []segment.Part, merged *segment.Segment, to [][]uint32) {
			mu.Lock()
			defer mu.Unlock()
			merges++
			open[merged] = true
			merged.Derived(func() segment.Derived {
				return dropping(func() {
					mu.Lock()
					defer mu.Unlock()
					delete(open, merged)
				})
			})
			for i, in := range inputs {
				for doc := range uint32(in.Segment.Len()) {
					if d := to[i][doc]; d != segment.Gone && merged.ID(d) != in.Segment.ID(doc) {
						t.Errorf("document %d became %d", doc, d)
					}
				}
			}
		}
	})
	for id := item.ID(1); id <= 600; id += 6 {
		w.put(sequence(id, id+5)...)
	}
	w.close()
	mu.Lock()
	defer mu.Unlock()
	if merges == 0 || len(open) > 0 {
		t.Errorf("%d merges, %d segments left open", merges, len(open))
	}
}
