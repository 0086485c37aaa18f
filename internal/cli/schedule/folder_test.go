package schedule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/internal/s3"
	"github.com/vitrine-dev/vitrine/internal/s3/s3test"
)

// tenant is a store with a schedule in a place, and with a clock of its own.
type tenant struct {
	Schedule
	at       time.Time
	now      backup.Census
	reported admin.Backups
}

func newTenant(t testing.TB, store string, to Place, at time.Time) *tenant {
	s := &tenant{at: at, now: backup.Census{Store: store, Batch: 1, Items: 10}}
	s.Schedule = Schedule{
		Place: to, Every: 24 * time.Hour, Keep: 1, Log: io.Discard,
		Census: func(context.Context) (backup.Census, error) { return s.now, nil },
		Copy: func(name, store string) (backup.Header, error) {
			h, text := backupOf(t, s.now)
			return h, to.replace(t.Context(), name, text)
		},
		Report: func(b admin.Backups) { s.reported = b },
	}
	s.Schedule.Now = func() time.Time { return s.at }
	return s
}

// try makes a step a day later, and returns its error.
func (s *tenant) try(t testing.TB) error {
	s.at = s.at.Add(s.Every)
	s.now.Batch++
	_, err := s.step(t.Context())
	s.Report(s.state)
	return err
}

// held returns the numbers of backups in a place, by store. It checks that each backup is of the store in its name.
func held(t testing.TB, p Place) map[string]int {
	t.Helper()
	names, err := p.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, c := range copies(names) {
		h, err := (&Schedule{Place: p}).header(t.Context(), c.Name())
		if err != nil || h.Store != c.Store {
			t.Errorf("%s is a backup of %s (%v)", c.Name(), h.Store, err)
		}
		found[c.Store]++
	}
	return found
}

var start2026 = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

// testOwners lets stores use one place, in many orders. newPlace returns an empty place.
func testOwners(t *testing.T, orders int, newPlace func() Place) {
	refused := func(err error, owner, store string) bool {
		var foreign *foreignError
		return errors.As(err, &foreign) && foreign.owner == owner && foreign.store == store &&
			strings.Contains(err.Error(), owner) && strings.Contains(err.Error(), store) && strings.Contains(err.Error(), "--take-over="+owner)
	}
	t.Run("orders", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(35, 4))
		for order := range orders {
			p := newPlace()
			// The clocks differ by up to three days.
			stores := map[string]*tenant{}
			for _, id := range []string{storeA, storeB, storeC} {
				stores[id] = newTenant(t, id, p, start2026.Add(time.Duration(rng.IntN(72))*time.Hour))
				stores[id].Keep = 1 + rng.IntN(2)
			}
			first, backups := "", 0
			for step := range 12 {
				s := stores[slices.Sorted(maps.Keys(stores))[rng.IntN(3)]]
				s.at = s.at.Add(time.Duration(rng.IntN(9)-4) * time.Hour)
				err := s.try(t)
				if first == "" {
					first = s.now.Store
				}
				if first != s.now.Store {
					if !refused(err, first, s.now.Store) || !s.reported.Newest.IsZero() {
						t.Fatalf("order %d, step %d: another store in the folder of %s: %v, reported %+v", order, step, first, err, s.reported)
					}
				} else if err != nil || s.reported.Newest.IsZero() || s.reported.Store != first {
					t.Fatalf("order %d, step %d: the owner: %v, reported %+v", order, step, err, s.reported)
				} else {
					backups = min(backups+1, s.Keep)
				}
				if got := held(t, p); len(got) != 1 || got[first] < 1 || got[first] > backups {
					t.Fatalf("order %d, step %d: the folder of %s contains %v, want %d", order, step, first, got, backups)
				}
			}
		}
	})
	t.Run("at the same time", func(t *testing.T) {
		for range orders {
			p := newPlace()
			if err := p.prepare(t.Context(), start2026, func(string) bool { return false }); err != nil {
				t.Fatal(err)
			}
			var stores []*tenant
			for i := range 6 {
				stores = append(stores, newTenant(t, fmt.Sprintf("%032x", i), p, start2026))
			}
			errs := make([]error, len(stores))
			var all sync.WaitGroup
			for i, s := range stores {
				all.Go(func() { errs[i] = s.try(t) })
			}
			all.Wait()
			for i, s := range stores {
				if errs[i] == nil && held(t, p)[s.now.Store] != 1 {
					t.Errorf("%s reports a backup, but the folder has %v", s.now.Store, held(t, p))
				}
			}
			owners := 0
			for i, s := range stores {
				if errs[i] = s.try(t); errs[i] == nil {
					owners++
				} else if !errors.As(errs[i], new(*foreignError)) {
					t.Error(errs[i])
				}
			}
			if owners != 1 {
				t.Errorf("%d owners: %v", owners, errs)
			}
		}
	})
	t.Run("taken over", func(t *testing.T) {
		p := newPlace()
		a, b, c := newTenant(t, storeA, p, start2026), newTenant(t, storeB, p, start2026), newTenant(t, storeC, p, start2026)
		if err := a.try(t); err != nil {
			t.Fatal(err)
		}
		b.TakeOver = storeC
		if err := b.try(t); !refused(err, storeA, storeB) {
			t.Errorf("the folder of another store than the one in --take-over: %v", err)
		}
		c.TakeOver = storeA
		for range 3 {
			if err := c.try(t); err != nil {
				t.Fatal(err)
			}
			if err := a.try(t); !refused(err, storeC, storeA) {
				t.Errorf("the store that was replaced: %v", err)
			}
			if diff := cmp.Diff(map[string]int{storeA: 1, storeC: 1}, held(t, p)); diff != "" {
				t.Errorf("the backups of the other store must stay (-want +got):\n%s", diff)
			}
		}
		// The last backup of the store that was replaced stays the time of its last success.
		if want := start2026.Add(24 * time.Hour); !a.reported.Newest.Equal(want) {
			t.Errorf("reported %s, want %s", a.reported.Newest, want)
		}
	})
	t.Run("no owner", func(t *testing.T) {
		p := newPlace()
		a, b := newTenant(t, storeA, p, start2026), newTenant(t, storeB, p, start2026)
		if err := a.try(t); err != nil {
			t.Fatal(err)
		}
		if err := p.remove(t.Context(), ownerName); err != nil {
			t.Fatal(err)
		}
		if err := b.try(t); !refused(err, storeA, storeB) {
			t.Errorf("a folder with only the backups of another store: %v", err)
		}
		if err := p.replace(t.Context(), ownerName, []byte("{")); err != nil {
			t.Fatal(err)
		}
		if err := a.try(t); err == nil || !strings.Contains(err.Error(), ownerName) {
			t.Errorf("a damaged owner: %v", err)
		}
		if err := p.remove(t.Context(), ownerName); err != nil {
			t.Fatal(err)
		}
		b.TakeOver = storeA
		if err := b.try(t); err != nil {
			t.Error(err)
		}
	})
	t.Run("lost data", func(t *testing.T) {
		p := newPlace()
		a := newTenant(t, storeA, p, start2026)
		a.Keep = 2
		if err := p.prepare(t.Context(), start2026, func(string) bool { return false }); err != nil {
			t.Fatal(err)
		}
		step := func(batch uint64, items, deleted int64, want string) {
			t.Helper()
			a.now = backup.Census{Store: storeA, Batch: batch, Items: items, Deleted: deleted}
			a.at = a.at.Add(a.Every)
			before := held(t, p)
			_, err := a.step(t.Context())
			if want == "" && err == nil {
				return
			}
			if want == "" || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Restore this backup") {
				t.Errorf("%+v: %v, want an error with %q", a.now, err, want)
			}
			if diff := cmp.Diff(before, held(t, p)); diff != "" {
				t.Errorf("%+v: the backups (-before +after):\n%s", a.now, diff)
			}
		}
		step(10, 60_040, 5, "")
		step(11, 60_000, 45, "")
		step(12, 0, 60_045, "") // everything was deleted or purged
		step(13, 30_000, 60_045, "")
		step(14, 12_000, 60_045, "12,000 items after 60,045 deletions of items and 14 batches, and the backup has 30,000 items after 60,045 deletions of items and 13 batches")
		step(12, 30_000, 60_045, "12 batches")
		step(13, 30_000, 60_044, "60,044 deletions")
		// A server that opens a smaller store during the backup.
		copied := a.Copy
		a.Copy = func(name, store string) (backup.Header, error) {
			a.now = backup.Census{Store: storeA, Batch: 14}
			return copied(name, store)
		}
		step(14, 30_000, 60_045, "0 items")
		a.Copy = copied
		// The way out: the earlier backups are elsewhere.
		names, err := p.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range copies(names) {
			if err := p.remove(t.Context(), c.Name()); err != nil {
				t.Fatal(err)
			}
		}
		step(14, 12_000, 60_045, "")
		// A wrong clock hides no backup, and a damaged backup stops nothing.
		a.at = a.at.Add(-72 * time.Hour)
		step(13, 12_000, 60_045, "13 batches")
		if err := p.replace(t.Context(), Copy{storeA, a.at.Add(-time.Hour)}.Name(), []byte("damaged")); err != nil {
			t.Fatal(err)
		}
		a.now.Batch = 15
		if _, err := a.step(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestFolderBelongsToOneStore(t *testing.T) {
	testOwners(t, 60, func() Place { return Directory(filepath.Join(t.TempDir(), "vitrine")) })
}

// unconditional is a place that does not know conditional requests, as some object stores.
type unconditional struct{ Place }

func (u unconditional) create(ctx context.Context, name string, content []byte) error {
	return u.replace(ctx, name, content)
}

func TestFolderWithoutConditionalRequests(t *testing.T) {
	testOwners(t, 20, func() Place { return unconditional{Directory(filepath.Join(t.TempDir(), "vitrine"))} })
}

func TestBucketFolderBelongsToOneStore(t *testing.T) {
	store := s3test.New(t)
	bucket, err := s3.Open("backups", s3.Options{Endpoint: store.URL, Addressing: s3.Auto, CAFile: store.CAFile})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	testOwners(t, 4, func() Place { n++; return Bucket{bucket, fmt.Sprintf("%d/", n)} })
}

// TestNamesOfBackups checks that only names that a schedule has given are taken for backups.
func TestNamesOfBackups(t *testing.T) {
	at := start2026
	for _, c := range []Copy{{"", at}, {storeA, at}} {
		if got, ok := ParseCopy(c.Name()); !ok || got != c {
			t.Errorf("%s: %+v, %t", c.Name(), got, ok)
		}
	}
	for _, name := range []string{
		"", ".tar", "vitrine-.tar", "vitrine--20261201T030000Z.tar", "vitrine-x-20261201T030000Z.tar", "vitrine-" + storeA + ".tar",
		"vitrine-" + storeA + "-20261301T030000Z.tar", "vitrine-" + strings.ToUpper(storeA) + "-20261201T030000Z.tar",
		storeA + "-20261201T030000Z.tar", "vitrine-" + storeA + "-20261201T030000Z", "vitrine-" + storeA + "-" + storeB + "-20261201T030000Z.tar", ownerName,
	} {
		if c, ok := ParseCopy(name); ok {
			t.Errorf("%q is the name of %+v", name, c)
		}
	}
}

// TestNewestInFolder checks which backup restore chooses in a folder.
func TestNewestInFolder(t *testing.T) {
	day := func(store string, n int) Copy {
		return Copy{store, start2026.Add(time.Duration(n) * 24 * time.Hour)}
	}
	for name, c := range map[string]struct {
		has         []Copy
		owner, from string
		want        Copy
		err         string
	}{
		"nothing":                       {nil, "", "", Copy{}, "contains no scheduled backup"},
		"one store":                     {[]Copy{day(storeA, 2), day(storeA, 3), day(storeA, 1)}, "", "", day(storeA, 3), ""},
		"no ids":                        {[]Copy{day("", 2), day("", 3)}, "", "", day("", 3), ""},
		"the owner":                     {[]Copy{day(storeA, 2), day(storeB, 3), day("", 4)}, storeA, "", day(storeA, 2), ""},
		"no ids in a folder with owner": {[]Copy{day("", 2)}, storeA, "", Copy{}, "an unknown store"},
		"two stores":                    {[]Copy{day(storeA, 2), day(storeB, 3)}, "", "", Copy{}, "Name the store with --from-store=ID"},
		"one of two stores":             {[]Copy{day(storeA, 2), day(storeB, 3)}, storeB, storeA, day(storeA, 2), ""},
		"none of the owner":             {[]Copy{day(storeA, 2)}, storeB, "", Copy{}, day(storeA, 2).Name() + " (of " + storeA + ")"},
		"another store":                 {[]Copy{day(storeA, 2)}, storeA, storeB, Copy{}, "no scheduled backup of the store " + storeB},
	} {
		t.Run(name, func(t *testing.T) {
			p := Directory(t.TempDir())
			for _, c := range c.has {
				if err := os.WriteFile(p.path(c.Name()), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.owner != "" {
				if err := claim(t.Context(), p, nil, c.owner, "", start2026); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Newest(t.Context(), p, c.from)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s, %v; want %s, %q", got.Name(), err, c.want.Name(), c.err)
			}
		})
	}
}
