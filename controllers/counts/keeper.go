package counts

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

const (
	// writesPerSecond limits how many counts are written, over all objects: they serve kubectl get, not displays.
	writesPerSecond = 2
	// restShare bounds what counting costs while content changes all the time: after a look at all objects the keeper rests for
	// restShare times as long as the look took, listing and copying them included, so that it takes a twentieth of a core at most.
	// The time spent waiting to write does not count.
	restShare = 20
	// restByTime is the least time between two looks while nothing changes: counts of queries with `now` change by time alone.
	restByTime = time.Minute
)

// Objects are the objects whose counts a Keeper keeps.
type Objects interface {
	// Counted visits a copy of every object whose counts may be written, with the function that counts for it. It returns false when
	// it left objects out that have to be counted later.
	Counted(ctx context.Context, visit func(o v1alpha1.Object, count Func)) (complete bool, err error)
	// WriteCounts writes the status of such an object, which was before.
	WriteCounts(ctx context.Context, before, o v1alpha1.Object) error
	// Reported returns how many statuses the reconcilers have written. What a pass counts may be old when it is written.
	Reported() uint64
}

// Keeper keeps the counts of all objects close to the content. It is the only writer of status besides the reconcilers, and nothing
// that it writes causes a reconcile.
type Keeper struct {
	// Library holds the content.
	Library library.Library
	// Objects are those whose counts are kept.
	Objects Objects
	// Clock tells the time that queries are evaluated at.
	Clock func() time.Time
	// Interval is the time between two checks whether anything changed.
	Interval time.Duration
	// Logger gets, at level 1, what could not be counted or written.
	Logger logr.Logger
	// Stopwatch measures how long the work takes; nil means time.Now.
	Stopwatch func() time.Time

	limiter *rate.Limiter
	waited  time.Duration // to write, during the current look
}

// Run keeps the counts until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	if k.Stopwatch == nil {
		k.Stopwatch = time.Now
	}
	k.limiter = rate.NewLimiter(writesPerSecond, 1)
	var version, reported uint64 // as of the last complete look
	var looked, rested time.Time
	last := &Look{}
	ticker := time.NewTicker(k.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		nowVersion, nowReported := k.Library.State(ctx).Version, k.Objects.Reported()
		same := nowVersion == version && nowReported == reported && (!last.due(k.Clock()) || time.Since(looked) < restByTime)
		began := k.Stopwatch()
		if same || began.Before(rested) {
			continue
		}
		k.waited = 0
		look := &Look{Library: k.Library, Clock: k.Clock}
		written := true
		complete, err := k.Objects.Counted(ctx, func(o v1alpha1.Object, count Func) {
			written = k.keep(ctx, look, o, count) && written
		})
		if err != nil {
			return err
		}
		ended := k.Stopwatch()
		rested = ended.Add(restShare * (ended.Sub(began) - k.waited))
		if complete && written {
			version, reported, looked, last = nowVersion, nowReported, time.Now(), look
		}
	}
}

// keep updates the counts of one object, and reports whether they are current.
func (k *Keeper) keep(ctx context.Context, look *Look, o v1alpha1.Object, count Func) bool {
	if ctx.Err() != nil {
		return false
	}
	log := k.Logger.V(1).WithValues("namespace", o.GetNamespace(), "name", o.GetName())
	before := o.DeepCopyObject().(v1alpha1.Object)
	changed, err := count(ctx, look, o)
	if err != nil {
		log.Info("could not count", "reason", err.Error())
		return false
	}
	if !changed {
		return true
	}
	began := k.Stopwatch()
	defer func() { k.waited += k.Stopwatch().Sub(began) }()
	if k.limiter.Wait(ctx) != nil {
		return false
	}
	if err := k.Objects.WriteCounts(ctx, before, o); err != nil {
		log.Info("could not write a count", "reason", err.Error())
		return false
	}
	return true
}
