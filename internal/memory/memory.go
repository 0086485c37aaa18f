// Package memory keeps the process within its memory limit. It determines the limit, sets it in the garbage collector, and reports
// the memory pressure to caches and writers.
//
// Of this project, it may import only the domain.
package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitrine-dev/vitrine/server/library"
)

// least is the smallest limit that makes sense: an empty server uses about 40 MiB.
const least = 64 << 20

// share is the part of a container's memory limit that the Go runtime may use. The rest is mainly for the pages of mapped files, because
// the kernel also counts these pages as memory of the container.
const share = 0.8

// Limit returns the number of bytes that the process may use, or 0 if there is no limit. The limit is the value of the flag, otherwise
// GOMEMLIMIT, otherwise 80 % of the container's limit. The container's limit is the lowest of the limits of the process's control group
// (version 1 or 2) and of all parents of this group.
func Limit(flag string) (int64, error) { return limit(flag, memlimit.FromCgroup) }

func limit(flag string, ofContainer func() (uint64, error)) (int64, error) {
	if flag != "" {
		q, err := resource.ParseQuantity(flag)
		if err != nil || q.Value() < least {
			return 0, fmt.Errorf("--memory-limit %q: must be at least 64Mi, in the notation of Kubernetes, such as 512Mi", flag)
		}
		return q.Value(), nil
	}
	if set := debug.SetMemoryLimit(-1); set != math.MaxInt64 {
		return set, nil
	}
	n, err := ofContainer()
	switch {
	case errors.Is(err, memlimit.ErrNoLimit), errors.Is(err, memlimit.ErrNoCgroup), errors.Is(err, memlimit.ErrCgroupsNotSupported):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("cannot determine the container's memory limit: %w; specify it with --memory-limit", err)
	case n > math.MaxInt64/2: // version 1 represents "no limit" by a large number
		return 0, nil
	}
	return int64(float64(n) * share), nil
}

// The shares of the limit above which the pressure rises to Tight and to Full, and below which it falls again. The two shares differ, so
// that the pressure does not change with every small change of the memory use.
const (
	tightAbove, tightBelow = 0.75, 0.65
	fullAbove, fullBelow   = 0.90, 0.82
)

// Gauge measures the memory pressure: the memory use of the process in relation to its limit.
type Gauge struct {
	limit   int64
	log     *slog.Logger
	use     func() Use
	collect func()
	// pace sets GOGC. It is nil if the environment sets GOGC.
	pace     func(percent int)
	pressure atomic.Int32
	crowded  atomic.Bool
}

// Use is the memory use of the Go runtime, in bytes.
type Use struct {
	// Live is the heap that survived the last collection, plus the memory of the runtime outside of the heap.
	Live int64
	// Heap is the heap that survived the last collection.
	Heap int64
	// Collections is the number of collections so far.
	Collections uint64
}

// NewGauge returns a gauge for a limit, and sets the limit in the garbage collector. If limit is 0, there is no limit, and the pressure
// never rises. NewGauge does not override GOGC if the environment sets it.
func NewGauge(limit int64, log *slog.Logger) *Gauge {
	if limit > 0 {
		debug.SetMemoryLimit(limit)
		log.Info("memory limit set", "bytes", limit)
	}
	g := &Gauge{limit: limit, log: log, use: readUse, collect: runtime.GC}
	if os.Getenv("GOGC") == "" {
		g.pace = func(percent int) { debug.SetGCPercent(percent) }
	}
	return g
}

// By default, Go starts a collection when the heap has doubled, even if the heap is small. For example, ten thousand parsed filters are 20
// MiB of small objects. During an import, a collection would scan all of them whenever the import has allocated another 20 MiB. Therefore,
// a collection does not start before the heap has reached min(heapFloor, limit/floorShare) or has grown by mostPercentage percent.
const (
	heapFloor       = 320 << 20
	floorShare      = 4
	leastPercentage = 100
	mostPercentage  = 1000
	percentageStep  = 25 // smaller changes are omitted, because each change pauses the process
)

// crowdedPercentage replaces leastPercentage while the index files do not fit in the memory of the container. What the heap does not use, the
// page cache can. Most of a large heap is cached bytes without pointers, so that collections are cheap.
const crowdedPercentage = 30

// Crowded tells the gauge whether the index files need more memory than the page cache of the container can have. See engine.Options.
func (g *Gauge) Crowded(crowded bool) { g.crowded.Store(crowded) }

// percentage returns the GOGC value for a live heap of the given size.
func percentage(heap, limit int64, crowded bool) int {
	floor, least := int64(heapFloor), leastPercentage
	if crowded {
		least = crowdedPercentage
	}
	if limit > 0 {
		floor = min(floor, limit/floorShare)
	}
	return int(min(max(100*floor/max(heap, 1)-100, int64(least)), mostPercentage))
}

// Limit returns the limit in bytes; 0 means no limit.
func (g *Gauge) Limit() int64 { return g.limit }

// Pressure returns the current pressure. It costs one atomic load.
func (g *Gauge) Pressure() library.Pressure { return library.Pressure(g.pressure.Load()) }

// interval is the interval at which Run reads the memory use. The writes during one interval must fit into the memory between fullAbove and
// the limit.
const interval = 50 * time.Millisecond

// stale is the number of intervals after which Run starts a collection if there is pressure and no collection has happened. The pressure
// can fall only after a collection, which shows how much memory is live. A process that rejects writes allocates so little that the next
// collection could be far away.
const stale = 20

// Run updates the pressure and GOGC until ctx ends.
func (g *Gauge) Run(ctx context.Context) error {
	if g.limit == 0 && g.pace == nil {
		return nil
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var collections uint64
	looks, percent := 0, leastPercentage
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		u := g.look()
		if u.Collections != collections {
			collections, looks = u.Collections, 0
			if next := percentage(u.Heap, g.limit, g.crowded.Load()); g.pace != nil && max(next-percent, percent-next) >= percentageStep {
				percent = next
				g.pace(percent)
			}
		}
		if looks++; looks >= stale && g.Pressure() != library.Relaxed {
			looks = 0
			g.collect()
		}
	}
}

// look reads the memory use, updates the pressure, and returns the memory use.
func (g *Gauge) look() Use {
	u := g.use()
	if g.limit == 0 {
		return u
	}
	before := g.Pressure()
	now := next(before, float64(u.Live)/float64(g.limit))
	if now == before {
		return u
	}
	g.pressure.Store(int32(now))
	level := slog.LevelInfo
	if now > before {
		level = slog.LevelWarn
	}
	g.log.Log(context.Background(), level, "memory pressure changed", "pressure", now.String(), "live", u.Live, "limit", g.limit)
	return u
}

// next returns the pressure of a process that uses the given share of its limit. before is the previous pressure.
func next(before library.Pressure, share float64) library.Pressure {
	switch {
	case share >= fullAbove, before == library.Full && share >= fullBelow:
		return library.Full
	case share >= tightAbove, before >= library.Tight && share >= tightBelow:
		return library.Tight
	}
	return library.Relaxed
}

// readUse returns the memory use according to the metrics of the Go runtime.
func readUse() Use {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	at := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	beside := at(2) - at(3) - at(4) - at(5) - at(6)
	return Use{Live: at(0) + max(beside, 0), Heap: at(0), Collections: uint64(at(1))}
}
