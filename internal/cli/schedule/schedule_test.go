package schedule

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/s3"
	"github.com/vitrine-dev/vitrine/internal/s3/s3test"
)

// Ids of stores.
var storeA, storeB, storeC = strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("c", 32)

// backupOf returns a backup with no files.
func backupOf(t testing.TB, census backup.Census) (backup.Header, []byte) {
	t.Helper()
	var b bytes.Buffer
	h := backup.Header{Vitrine: "test", Census: census}
	if err := backup.Write(t.Context(), &b, t.TempDir(), h); err != nil {
		t.Fatal(err)
	}
	return h, b.Bytes()
}

// TestSchedule checks when scheduled backups are made, and which backups are kept, with a directory as the place.
func TestSchedule(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vitrine")
	s := testSchedule(t, Directory(dir))
	// A step removes the incomplete file that a killed command has left.
	left := filepath.Join(dir, output.IncompletePrefix+"1")
	if err := errors.Join(os.WriteFile(left, nil, 0o600), os.Chtimes(left, s.Now(), s.Now().Add(-2*time.Hour))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("%v, %v, want the owner, a backup without an id, notes.txt and one backup", entries, err)
	}
	s.Place = Directory(filepath.Join(dir, "no", "where"))
	if _, err := s.step(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no volume: %v", err)
	}
}

// testSchedule checks a schedule in an empty place, and leaves there its owner, a backup, a backup without an id, and the file notes.txt.
func testSchedule(t *testing.T, to Place) *Schedule {
	t.Helper()
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	broken := errors.New("no server runs")
	var failure error
	var reported admin.Backups
	census := backup.Census{Store: storeA, Batch: 1}
	s := &Schedule{
		Place: to, Every: 24 * time.Hour, Keep: 2, Now: func() time.Time { return at }, Log: io.Discard,
		Census: func(context.Context) (backup.Census, error) { return census, nil },
		Copy: func(name, store string) (backup.Header, error) {
			if failure != nil {
				return backup.Header{}, failure
			}
			if store != storeA {
				t.Errorf("a backup of the store %s", store)
			}
			h, text := backupOf(t, census)
			return h, to.replace(t.Context(), name, text)
		},
		Report: func(b admin.Backups) { reported = b },
	}
	files := func(about string, want ...string) {
		t.Helper()
		got, err := to.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(name string) bool { return name == ownerName })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
	}
	name := func(at string) string { return "vitrine-" + storeA + "-" + at + ".tar" }
	for _, step := range []struct {
		about   string
		after   time.Duration
		failure error
		wait    time.Duration
		copies  []string
	}{
		{"the first one at once", 0, nil, 24 * time.Hour, []string{name("20261201T030000Z")}},
		{"none after a restart", time.Hour, nil, 23 * time.Hour, []string{name("20261201T030000Z")}},
		{"none if it fails", 23 * time.Hour, broken, 0, []string{name("20261201T030000Z")}},
		{"the second one later", time.Minute, nil, 24 * time.Hour, []string{name("20261201T030000Z"), name("20261202T030100Z")}},
		{"two stay", 25 * time.Hour, nil, 24 * time.Hour, []string{name("20261202T030100Z"), name("20261203T040100Z")}},
		{"one from the future does not count", -time.Hour, nil, 24 * time.Hour, []string{name("20261202T030100Z"), name("20261203T030100Z")}},
	} {
		at, failure = at.Add(step.after), step.failure
		wait, err := s.step(t.Context())
		if wait != step.wait || !errors.Is(err, step.failure) {
			t.Errorf("%s: wait %s, want %s (%v)", step.about, wait, step.wait, err)
		}
		files(step.about, step.copies...)
	}
	if want := time.Date(2026, 12, 3, 3, 1, 0, 0, time.UTC); !s.state.Newest.Equal(want) || s.state.Store != storeA {
		t.Errorf("the newest backup is of %s from %s, want %s", s.state.Store, s.state.Newest, want)
	}
	if want := time.Date(2026, 12, 2, 3, 1, 0, 0, time.UTC); !reported.Newest.Equal(want) {
		t.Errorf("before a backup, the newest one is from %s, want %s", reported.Newest, want)
	}
	// Other files stay, and so do backups without an id. The step removes old backups before it makes a new one.
	const older = "vitrine-20260101T000000Z.tar"
	for _, other := range []string{"notes.txt", older} {
		if err := to.replace(t.Context(), other, []byte("other")); err != nil {
			t.Fatal(err)
		}
	}
	at, s.Keep, failure = at.Add(48*time.Hour), 1, broken
	if _, err := s.step(t.Context()); !errors.Is(err, broken) {
		t.Error(err)
	}
	files("another file", "notes.txt", older, name("20261203T030100Z"))
	failure = nil
	return s
}

// TestScheduleInBucket makes the same checks as TestSchedule, with a bucket.
func TestScheduleInBucket(t *testing.T) {
	store := s3test.New(t)
	bucket, err := s3.Open("backups", s3.Options{Endpoint: store.URL, Addressing: s3.Auto, CAFile: store.CAFile})
	if err != nil {
		t.Fatal(err)
	}
	testSchedule(t, Bucket{bucket, "vitrine/"})
	testSchedule(t, Bucket{bucket, ""})
}
