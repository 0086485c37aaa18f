package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// TestMain runs the program of a subject instead of the tests if the arguments request that, because the subjects start this binary as a
// child process.
func TestMain(m *testing.M) {
	if ran, err := subject.Main(os.Args[1:], os.Stdin, os.Stdout); ran {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestLibraries runs the comparison with Lucene. It fails if the engine and Lucene find different totals or items. It downloads nothing, so
// it is skipped if the jars of OpenSearch are not in the cache directory.
func TestLibraries(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("DID NOT RUN: %v", err)
	}
	if jars, err := filepath.Glob(filepath.Join(cache, "vitrine/opensearch/maven/org/apache/lucene/lucene-core/10.*/*.jar")); err != nil || len(jars) == 0 {
		t.Skipf("DID NOT RUN: the jars of OpenSearch are not in %s; go run ./hack/opensearch --nodes 0 downloads them", cache)
	}
	b := &suite{
		settings: settings{dir: t.TempDir(), scale: scaleOf(false, minItems)}, out: io.Discard, began: time.Now(), corpus: sample.NewLibrary(), client: load.NewClient(1),
		result: &report.Run{Absent: map[string]string{}, Versions: map[string]string{}},
	}
	t.Cleanup(func() {
		if err := b.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := b.libraries(t.Context()); err != nil {
		t.Fatal(err)
	}
	if reason, absent := b.result.Absent[report.Lucene]; absent {
		t.Skipf("DID NOT RUN: %s", reason)
	}
	if v := b.result.Versions[report.Lucene]; !strings.HasPrefix(v, "10.") {
		t.Errorf("version %q", v)
	}
	seen := map[string]int{}
	for _, f := range b.result.Families {
		seen[f.Kind]++
		ways := []string{report.TwoPasses}
		if f.Kind != report.CountedFamily {
			ways = append(ways, report.OnePass)
		}
		for forgotten, ours := range map[bool][]string{false: {report.FirstTime, report.Again}, true: {report.NothingKept}} {
			for _, way := range slices.Concat(ways, ours) {
				if s := f.Of(forgotten).Find(way); s == nil || len(s.Rounds) != b.scale.rounds || s.Rounds[0].P50 <= 0 {
					t.Errorf("%s, %s: %s: %+v", f.Kind, f.Name, way, s)
				}
			}
		}
	}
	if seen[report.RankedFamily] != 7 || seen[report.ByDateFamily] != 7 || seen[report.CountedFamily] != 13 {
		t.Errorf("families: %v", seen)
	}
	for _, bar := range report.Bars {
		if (strings.HasPrefix(bar.ID, "lucene-") || bar.ID == "engine-disk") && !bar.Measure(b.result).Known {
			t.Errorf("%s is unknown", bar.ID)
		}
	}
	if b.result.Peers[report.Lucene].Disk <= 0 {
		t.Error("the size of Lucene is unknown")
	}
}
