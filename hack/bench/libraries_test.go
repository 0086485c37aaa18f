package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/anchor"
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

// TestLibraries runs the comparison with the other libraries. It fails if the engine and another library find different totals or items. It
// downloads and compiles nothing, so it leaves out a library whose program is not in the cache directory.
func TestLibraries(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("DID NOT RUN: %v", err)
	}
	missing := map[string]string{}
	if jars, err := filepath.Glob(filepath.Join(cache, "vitrine/opensearch/maven/org/apache/lucene/lucene-core/10.*/*.jar")); err != nil || len(jars) == 0 {
		missing[report.Lucene] = fmt.Sprintf("the jars of OpenSearch are not in %s; go run ./hack/opensearch --nodes 0 downloads them", cache)
	}
	program, err := anchor.TantivyProgram()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		missing[report.Tantivy] = fmt.Sprintf("%s is missing; cd hack/bench && go run . -only libraries -items %d compiles it in minutes", program, minItems)
	}
	var out bytes.Buffer
	b := &suite{
		settings: settings{dir: t.TempDir(), scale: scaleOf(false, minItems)}, out: &out, began: time.Now(), corpus: sample.NewLibrary(), client: load.NewClient(1),
		result: &report.Run{Absent: map[string]string{}, Versions: map[string]string{}},
	}
	t.Cleanup(func() {
		if err := b.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := b.compare(t.Context(), slices.DeleteFunc(slices.Clone(peerLibraries), func(p peer) bool { return missing[p.name] != "" })); err != nil {
		t.Fatal(err)
	}
	for name, reason := range b.result.Absent {
		missing[name] = reason
		if !strings.Contains(out.String(), "the comparison with "+name+" did not run: "+reason) {
			t.Errorf("the output does not say that the comparison with %s did not run: %s", name, &out)
		}
	}
	for name, version := range map[string]string{report.Lucene: "10.", report.Tantivy: "0."} {
		t.Run(name, func(t *testing.T) {
			if reason, absent := missing[name]; absent {
				t.Skipf("DID NOT RUN: %s", reason)
			}
			if v := b.result.Versions[name]; !strings.HasPrefix(v, version) {
				t.Errorf("version %q", v)
			}
			checkComparison(t, b, name)
		})
	}
}

// checkComparison checks that the results of a run contain those of the comparison with a library.
func checkComparison(t *testing.T, b *suite, name string) {
	t.Helper()
	seen := map[string]int{}
	for _, f := range b.result.Families {
		seen[f.Kind]++
		ways := []string{report.TwoPasses(name)}
		if f.Kind != report.CountedFamily {
			ways = append(ways, report.OnePass(name))
		}
		wanted := map[*report.Workload][]string{
			&f.Kept: slices.Concat(ways, []string{report.FirstTime, report.Again}), &f.Forgotten: slices.Concat(ways, []string{report.NothingKept}),
		}
		for w, ways := range wanted {
			for _, way := range ways {
				if s := w.Find(way); s == nil || len(s.Rounds) != b.scale.rounds || s.Rounds[0].P50 <= 0 {
					t.Errorf("%s, %s: %s: %+v", f.Kind, f.Name, way, s)
				}
			}
		}
	}
	if seen[report.RankedFamily] != 7 || seen[report.ByDateFamily] != 7 || seen[report.CountedFamily] != 13 {
		t.Errorf("families: %v", seen)
	}
	for _, bar := range report.Bars {
		if (strings.HasPrefix(bar.ID, strings.ToLower(name)+"-") || bar.ID == "engine-disk") && !bar.Measure(b.result).Known {
			t.Errorf("%s is unknown", bar.ID)
		}
	}
	for _, subject := range []string{report.Engine, name} {
		if b.result.Peers[subject].Disk <= 0 {
			t.Errorf("the size of %s is unknown", subject)
		}
	}
}
