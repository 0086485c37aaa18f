package counts

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

const (
	// writesPerSecond limits the writes of counts for all objects together. This rate is sufficient, because the counts are for users of
	// kubectl get.
	writesPerSecond = 2
	// restShare bounds the cost of counting while content changes all the time. After a look at all objects, the keeper rests for restShare
	// times the duration of the look, which includes listing and copying the objects. Counting thus takes less than 1/restShare of a core. The
	// duration does not include the time that the keeper waits for writesPerSecond.
	restShare = 20
	// restByTime is the minimum time between two looks while no content changes. These looks are necessary because counts of queries with
	// `now` change over time.
	restByTime = time.Minute
)

// Objects gives a Keeper access to the objects that have counts.
type Objects interface {
	// Counted calls visit for every object whose counts may be written, with a copy of the object and the function that updates its counts.
	// complete is false if Counted left out objects whose counts must be updated later.
	Counted(ctx context.Context, visit func(o v1alpha1.Object, count Func)) (complete bool, err error)
	// WriteCounts patches the status of an object from before to o.
	WriteCounts(ctx context.Context, before, o v1alpha1.Object) error
	// Reported returns the number of status writes by the reconcilers. When this number changes, the Keeper counts again, because the counts
	// that a reconciler writes may already be outdated.
	Reported() uint64
}

// Keeper keeps the counts of all objects approximately current. Only the Keeper and the reconcilers write statuses. The Keeper's writes
// cause no reconcile.
type Keeper struct {
	Library Library
	// Objects gives access to the objects whose counts the Keeper keeps current.
	Objects Objects
	// Clock returns the time at which queries are evaluated.
	Clock func() time.Time
	// Interval is the time between two checks for changes.
	Interval time.Duration
	// Logger receives failures to count or to write, at level 1.
	Logger logr.Logger
	// Stopwatch measures the duration of the work; nil means time.Now.
	Stopwatch func() time.Time

	limiter *rate.Limiter
	waited  time.Duration // the time that the current look has waited for the limiter
}

// Run updates the counts until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	if k.Stopwatch == nil {
		k.Stopwatch = time.Now
	}
	k.limiter = rate.NewLimiter(writesPerSecond, 1)
	var version, reported uint64 // the version of the content and Objects.Reported at the last complete look
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

// keep updates the counts of one object, and reports whether the counts in its status are now current.
func (k *Keeper) keep(ctx context.Context, look *Look, o v1alpha1.Object, count Func) bool {
	if ctx.Err() != nil {
		return false
	}
	log := k.Logger.V(1).WithValues("namespace", o.GetNamespace(), "name", o.GetName())
	before := o.DeepCopyObject().(v1alpha1.Object)
	changed, err := count(ctx, look, o)
	if err != nil {
		log.Info("could not count items", "reason", err.Error())
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
		log.Info("could not write an item count", "reason", err.Error())
		return false
	}
	return true
}
