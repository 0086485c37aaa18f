package main

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

func TestScales(t *testing.T) {
	for name, s := range map[string]scale{
		"quick": scaleOf(false, 0), "full": scaleOf(true, 0), "smallest": scaleOf(false, minItems), "development": scaleOf(false, 20000),
	} {
		if s.items%s.chunk != 0 || s.early()%s.chunk != 0 {
			t.Errorf("%s: the chunk %d does not divide %d items and a fifth of them", name, s.chunk, s.items)
		}
		if s.standing%10 != 0 || s.percolated < percolateBatch || s.rounds < 2 || s.restarts < 1 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args     []string
		ok, kept bool
	}{
		"none":         {nil, true, true},
		"full":         {[]string{"-full"}, true, true},
		"other size":   {[]string{"-items", "20000"}, true, false},
		"to a place":   {[]string{"-items", "20000", "-docs", "here"}, true, true},
		"some parts":   {[]string{"-only", "pages,posts"}, true, false},
		"no such part": {[]string{"-only", "pages,dinner"}, false, false},
		"too few":      {[]string{"-items", "10"}, false, false},
		"an argument":  {[]string{"all"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := parseFlags(tc.args, io.Discard)
			if (err == nil) != tc.ok {
				t.Errorf("%v", err)
			}
			if kept := s.docs != ""; tc.ok && kept != tc.kept {
				t.Errorf("the results go to %q", s.docs)
			}
		})
	}
}

func TestPlanPages(t *testing.T) {
	b := &suite{settings: settings{scale: scaleOf(false, minItems)}, filters: sample.NewLibrary().Filters(100)}
	totals := make([]int64, 100)
	for f := range totals {
		totals[f] = int64(f * 37)
	}
	p, err := b.planPages(totals)
	if err != nil {
		t.Fatal(err)
	}
	if totals[p.hot.filter] < 50 || p.hot.page != 1 {
		t.Errorf("the hot page is %+v", p.hot)
	}
	for name, l := range map[string]pageLog{"zipf": p.zipf, "uniform": p.uniform, "wire": p.wire, "first": p.first, "last": p.last} {
		if len(l) != b.scale.rounds {
			t.Errorf("%s: %d rounds; want %d", name, len(l), b.scale.rounds)
		}
		for _, v := range slices.Concat(l...) {
			if v.page < 1 || v.page > 1 && int64(v.page-1)*50 >= totals[v.filter] {
				t.Fatalf("%s requests page %d of %d items", name, v.page, totals[v.filter])
			}
		}
	}
	// All pages in the logs "first" and "last" must be full, and no page may occur twice.
	seen := map[filterPage]bool{}
	for _, v := range append(slices.Concat(p.first...), slices.Concat(p.last...)...) {
		if seen[v] || int64(v.page)*50 > totals[v.filter] {
			t.Errorf("%+v of %d items", v, totals[v.filter])
		}
		seen[v] = true
	}
	if len(seen) == 0 {
		t.Error("no filter is long enough")
	}
	again, err := b.planPages(totals)
	if err != nil || !slices.EqualFunc(p.uniform, again.uniform, slices.Equal) {
		t.Error("two runs request different pages")
	}
	if _, err := b.planPages(make([]int64, 100)); err == nil {
		t.Error("planPages accepts filters without a full page")
	}
}

func TestContenderOrder(t *testing.T) {
	var order []string
	of := func(name string) contender {
		return contender{name, func(int) (load.Result, error) {
			order = append(order, name)
			return load.Result{Requests: 1, Elapsed: time.Second, Latencies: []time.Duration{time.Millisecond}}, nil
		}}
	}
	b := &suite{out: io.Discard}
	w := &report.Workload{}
	if err := b.alternate(w, 3, of("a"), of("b")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "b", "a", "a", "b"}; !slices.Equal(order, want) {
		t.Errorf("%v; want %v", order, want)
	}
	if s := w.Find("a"); len(s.Rounds) != 3 || s.Rounds[0].P50 != 1 || s.Rounds[0].Seconds != 1 {
		t.Errorf("%+v", s)
	}
}

func TestSettle(t *testing.T) {
	spent := []time.Duration{0, time.Second, 2 * time.Second, 2 * time.Second}
	cpu := func() (time.Duration, error) {
		now := spent[0]
		if len(spent) > 1 {
			spent = spent[1:]
		}
		return now, nil
	}
	got, err := settle(t.Context(), cpu)
	if err != nil || got != 2*time.Second {
		t.Errorf("%s, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := settle(ctx, func() (time.Duration, error) { return 0, nil }); err == nil {
		t.Error("settle continues after the run was interrupted")
	}
}
