// Package memory keeps the process within its memory: it finds the limit, has the garbage collector mind it, and tells
// caches and writers how near it is.
//
// It may import the domain, and nothing else of this project.
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

// least is the smallest limit that makes sense: an empty server takes about 40 MiB.
const least = 64 << 20

// share is the part of a container's limit that the heap may take. The rest is for the pages of mapped files, which the
// kernel counts to the container as well, for stacks and for what the collector needs to work.
const share = 0.8

// Limit returns how many bytes the process may take: the flag's, else GOMEMLIMIT's, else 80 % of its container's; 0 for no
// limit. The container is the process's own control group, of version 1 or 2, or the narrowest of those around it.
func Limit(flag string) (int64, error) { return limit(flag, memlimit.FromCgroup) }

func limit(flag string, ofContainer func() (uint64, error)) (int64, error) {
	if flag != "" {
		q, err := resource.ParseQuantity(flag)
		if err != nil || q.Value() < least {
			return 0, fmt.Errorf("--memory-limit %q: want at least 64Mi, in the notation of Kubernetes, such as 512Mi", flag)
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
		return 0, fmt.Errorf("find the container's memory limit (or give --memory-limit): %w", err)
	case n > math.MaxInt64/2: // how version 1 says that there is none
		return 0, nil
	}
	return int64(float64(n) * share), nil
}

// The shares of the limit at which the pressure rises and, a good deal lower, falls again.
const (
	tightAbove, tightBelow = 0.75, 0.65
	fullAbove, fullBelow   = 0.90, 0.82
)

// Gauge tells how near the process is to its limit.
type Gauge struct {
	limit   int64
	log     *slog.Logger
	use     func() Use
	collect func()
	// pace sets the collector's percentage; nil where the environment did.
	pace     func(percent int)
	pressure atomic.Int32
}

// Use is what the Go runtime holds, in bytes.
type Use struct {
	// Live is what the last collection could not free, with what the runtime needs beside the heap.
	Live int64
	// Heap is the part of it that is in the heap.
	Heap int64
	// Collections is how many there have been.
	Collections uint64
}

// NewGauge returns a gauge for a limit, and has the garbage collector keep below it; 0 is no limit, under which the
// pressure never rises. GOGC, where it is set, is left alone.
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

// The collector of Go works in proportion to what was allocated, however little is kept: with 20 MiB of small objects in use
// (ten thousand parsed filters) it looked at all of them for every 20 MiB of an import. So it waits until the heap has
// heapFloor, or the fourth part of the limit where that is less, and then until it has doubled, as ever.
const (
	heapFloor       = 320 << 20
	floorShare      = 4
	leastPercentage = 100
	mostPercentage  = 1000
	percentageStep  = 25 // differences below are not worth a pause
)

// percentage is what the collector is told with so much in the heap.
func percentage(heap, limit int64) int {
	floor := int64(heapFloor)
	if limit > 0 {
		floor = min(floor, limit/floorShare)
	}
	return int(min(max(100*floor/max(heap, 1)-100, leastPercentage), mostPercentage))
}

// Limit returns the limit in bytes, 0 for none.
func (g *Gauge) Limit() int64 { return g.limit }

// Pressure returns the present pressure. It costs a load.
func (g *Gauge) Pressure() library.Pressure { return library.Pressure(g.pressure.Load()) }

// interval is how often Run looks. What can be written in that time has to fit between Full and the limit.
const interval = 50 * time.Millisecond

// stale is how many looks without a collection are waited for under pressure: what is live is only known after one, and
// a process that refuses writes may not need one for long.
const stale = 20

// Run looks at the memory until ctx ends.
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
			if next := percentage(u.Heap, g.limit); g.pace != nil && max(next-percent, percent-next) >= percentageStep {
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

// look reads the use and sets the pressure.
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

// next returns the pressure after before at a share of the limit.
func next(before library.Pressure, share float64) library.Pressure {
	switch {
	case share >= fullAbove, before == library.Full && share >= fullBelow:
		return library.Full
	case share >= tightAbove, before >= library.Tight && share >= tightBelow:
		return library.Tight
	}
	return library.Relaxed
}

// readUse asks the runtime.
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
