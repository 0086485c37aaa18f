package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/vitrine-dev/vitrine/controllers"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/webhooks"
)

// stopGrace is the time that a manager has to end after its context was canceled.
const stopGrace = 5 * time.Second

// Supervisor runs the controllers for as long as the process lives. Creating a manager requires the API server, and a manager ends when it
// cannot fill its caches. The Supervisor then creates the next manager. Meanwhile, the server serves the stored state. During an outage of
// the API server, a manager continues to run. When the API server answers again, the Supervisor restarts the watches.
type Supervisor struct {
	options Options
	metrics *metrics
	holds   *holds
	// loaded is true while the store has a record of a complete load.
	loaded atomic.Bool
	// sweeping is locked during a confirmed sweep. mu stays unlocked during the sweep, so that a probe never waits for the sweep.
	sweeping sync.Mutex

	mu     sync.Mutex
	status Status
	// foreign is the identity of the reachable cluster if the store belongs to another cluster, and "" otherwise.
	foreign string
	// rival is the Lease of another installation in this cluster if the library belongs to that installation, and "" otherwise.
	rival string
	// current is the follower whose manager has completed its load; nil if there is none.
	current *follower
	// reached is the cluster of the store, which this process follows or could follow; nil before the API server has answered.
	reached *reached
	// unreachable is the error of the last check of the API server, or nil if the API server answered.
	unreachable error
	// interrupted is the reason why the watches do not receive all events, or nil if they do.
	interrupted error
	// standby is true while this process waits for the lease. leader is the identity of the last known holder of the lease.
	standby bool
	leader  string
	// wake ends the backoff early.
	wake chan struct{}
}

// Status describes whether the library follows the cluster.
type Status struct {
	// Synced is true if this process completed a load and its manager runs.
	Synced bool
	// Remembered is true if the store has a record of a complete load, so that the server can serve the stored state. After a handover to
	// another cluster, it is false until the first load from that cluster is complete.
	Remembered bool
	// LastError is the reason why no manager runs. It is nil while a manager runs, and while this process only waits for the lease.
	LastError error
	// Standby is true while this process waits for the lease, and another replica runs the controllers.
	Standby bool
	// HeldSweep contains the number of removals that wait for confirmation; nil if there are none.
	HeldSweep *library.HeldError
	// Message describes the status for users.
	Message string
}

// NewSupervisor validates its options and reads whether the store has a record of a complete load. It starts nothing: call Run.
func NewSupervisor(o Options) (*Supervisor, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Supervisor{options: o, wake: make(chan struct{}, 1), metrics: newMetrics()}
	s.holds = newHolds(s.metrics.held)
	if err := s.recall(); err != nil {
		return nil, err
	}
	if o.Metrics != nil {
		if err := s.register(o.Metrics); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// recall reads whether the store has a record of a complete load.
func (s *Supervisor) recall() error {
	mark, err := s.options.Library.Mark(markLoaded)
	if err != nil {
		return fmt.Errorf("read from the store whether all manifests were loaded: %w", err)
	}
	s.loaded.Store(mark != "")
	return nil
}

// Run creates and runs managers until ctx ends. The first attempt after a manager has run for a minute begins at once.
func (s *Supervisor) Run(ctx context.Context) error {
	var backoff time.Duration
	for {
		started := time.Now()
		err := s.once(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(started) > time.Minute {
			backoff = 0
		}
		s.ended(err, backoff)
		s.pause(ctx, backoff)
		backoff = min(max(2*backoff, time.Second), s.options.MaxBackoff)
	}
}

// ended records that no manager runs, and why.
func (s *Supervisor) ended(err error, retry time.Duration) {
	if err == nil {
		err = errors.New("the manager stopped")
	}
	s.mu.Lock()
	repeated := s.status.LastError != nil && s.status.LastError.Error() == err.Error()
	s.status.Synced, s.status.LastError, s.current, s.unreachable, s.interrupted = false, err, nil, nil, nil
	s.mu.Unlock()
	if !repeated {
		s.options.Logger.Info("no manager runs; still serving the stored state", "reason", err.Error(), "retry", retry.String())
	}
}

// pause waits for d, or until awake is called or ctx ends.
func (s *Supervisor) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.wake:
	case <-timer.C:
	}
}

// once waits for the cluster, and follows it until the manager ends.
func (s *Supervisor) once(ctx context.Context) error {
	cfg, conns, install, err := s.await(ctx)
	if err != nil {
		return err
	}
	defer conns.CloseAll()
	leave, err := s.arrive(cfg, install)
	if err != nil {
		return err
	}
	defer leave()
	if s.options.Lease == nil {
		return s.follow(ctx, cfg, conns, install, s.options.Library)
	}
	shared := s.options.Library.(library.Shared) // withDefaults has checked this type assertion
	return s.lead(ctx, cfg, func(ctx context.Context) error {
		// The store may have been handed over to another cluster or installation while this process waited for the lease.
		if err := s.admit(install); err != nil {
			return err
		}
		leading, err := shared.Lead(ctx, s.options.Lease.Identity)
		if err != nil {
			return fmt.Errorf("lead the library: %w", err)
		}
		return s.follow(ctx, cfg, conns, install, leading)
	})
}

// await waits until the API server answers and belongs to the cluster of the store. It does not back off: an attempt costs the API server
// little, and the server accepts the tokens of deleted AccessTokens until an attempt succeeds.
func (s *Supervisor) await(ctx context.Context) (*rest.Config, *connections, string, error) {
	for {
		cfg, conns, install, err := s.reach(ctx)
		if err == nil || ctx.Err() != nil {
			return cfg, conns, install, err
		}
		retry := s.options.WatchInterval
		if silent := (*url.Error)(nil); errors.As(err, &silent) {
			retry /= outageChecks // the request failed before the API server answered
		}
		s.ended(err, retry)
		s.pause(ctx, retry)
	}
}

// reach connects to the API server and identifies the cluster.
func (s *Supervisor) reach(ctx context.Context) (*rest.Config, *connections, string, error) {
	// Another replica may have loaded the library since the last attempt.
	if err := s.recall(); err != nil {
		return nil, nil, "", err
	}
	cfg, err := s.options.RESTConfig()
	if err != nil {
		return nil, nil, "", fmt.Errorf("find the API server: %w", err)
	}
	cfg, conns := connect(cfg)
	if cfg.QPS == 0 {
		// Do not limit requests in the client: API Priority and Fairness in the API server does it better.
		cfg.QPS = -1
	}
	install, err := identify(ctx, cfg)
	if err == nil {
		err = s.admit(install)
	}
	if err != nil {
		conns.CloseAll()
		return nil, nil, "", err
	}
	return cfg, conns, install, nil
}

// follow creates a manager that makes lib match the manifests of a cluster, and runs the manager until it ends.
func (s *Supervisor) follow(ctx context.Context, cfg *rest.Config, conns *connections, install string, lib library.Library) error {
	store, err := nameStore(ctx, lib)
	if err != nil {
		return fmt.Errorf("determine the name of the store: %w", err)
	}
	mgr, watches, err := newManager(cfg, s.options)
	if err != nil {
		return err
	}
	host, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return fmt.Errorf("find the address of the API server: %w", err)
	}
	// End the writer of Events and the checks with the manager, and the manager when a check fails.
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	recording, err := startEvents(ctx, cfg, mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	defer recording.Shutdown()
	options := s.options
	options.Library = lib
	f := &follower{
		Options: options, client: mgr.GetClient(), direct: mgr.GetAPIReader(), watches: watches,
		connections: conns, http: mgr.GetHTTPClient(), address: host.JoinPath("version").String(),
	}
	recorder := recording.NewRecorder(mgr.GetScheme(), reportingController)
	f.removals = newRemovals(s.holds, recorder, s.options.Logger, f.mayRemove)
	f.webhooks, err = webhooks.New(webhooks.Options{
		Source: lib, Policy: f.WebhookPolicy, Metrics: s.metrics.webhooks, Clock: f.Clock,
	}, func(o library.Owner) { f.set.Requeue(o) })
	if err != nil {
		return fmt.Errorf("prepare the deliveries of Webhooks: %w", err)
	}
	f.set, err = controllers.New(mgr, controllers.Config{
		Library: f.Library, Install: install, Store: store, Namespaced: len(f.Namespaces) > 0,
		Removals: f.removals, Events: recorder, Metrics: s.metrics.passes,
		ExternalURL: f.ExternalURL, Login: f.Login, CABundle: f.CABundle, Webhooks: f.webhooks, Clock: f.Clock, PropertyGrace: f.PropertyGrace, Logger: f.Logger,
	})
	if err != nil {
		return err
	}
	// Load in a runnable, because runnables start after the caches are filled.
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return s.loadAndCount(ctx, f) })); err != nil {
		return fmt.Errorf("add the bulk load: %w", err)
	}
	// Check from the start, and not in a runnable, because the watches may be interrupted before the caches are filled.
	var watching sync.WaitGroup
	watching.Go(func() { end(s.watch(ctx, f)) })
	err = run(ctx, mgr)
	end(nil)
	watching.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errCheck) {
		return cause
	}
	return err
}

// loadAndCount loads all objects, and then delivers to webhooks, updates the counts in statuses, and reports what the server serves until ctx
// ends.
func (s *Supervisor) loadAndCount(ctx context.Context, f *follower) error {
	if err := s.load(ctx, f); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { f.set.FollowServing(ctx, f.CountInterval) })
	following.Go(func() {
		if err := f.webhooks.Run(ctx); err != nil {
			f.Logger.Error(err, "could not remove the cursors of deleted Webhooks, will retry after the next start")
		}
	})
	defer following.Wait()
	defer stop() // before Wait, because the keeper may fail while ctx lives
	keeper := counts.Keeper{Library: f.Library, Objects: f.set, Clock: f.Clock, Interval: f.CountInterval, Logger: f.Logger}
	return keeper.Run(ctx)
}

// run runs a manager until the manager or ctx ends.
func run(ctx context.Context, mgr manager.Manager) error {
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		// A manager whose caches were never filled does not end when its context ends, so wait for a limited time only.
		select {
		case err = <-ended:
		case <-time.After(stopGrace):
		}
	}
	if err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}

// errCheck is the error of a check after which the manager cannot continue.
var errCheck = errors.New("stop following")

// outageChecks is the number of checks per WatchInterval while the API server does not answer.
const outageChecks = 4

// slowCheck is the duration after which a check without an answer shows in the status.
const slowCheck = time.Second

// errSlow means that the API server has not answered a check yet.
var errSlow = fmt.Errorf("the API server has not answered for %v", slowCheck)

// watch checks the API server periodically. Informers alone do not detect that the API server is unreachable, that another cluster responds
// at its address, or that its data went back in time. In the last two cases, and when another replica leads the library, watch fails, which
// ends the manager. When the API server answers again after an outage, watch restarts the watches and the failed passes.
func (s *Supervisor) watch(ctx context.Context, f *follower) error {
	all := library.Kinds()
	answered := true
	for looks := 0; ; looks++ {
		interval := s.options.WatchInterval
		if !answered {
			interval /= outageChecks
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
		err := s.look(ctx, f, all[looks%len(all)])
		if errors.Is(err, errOtherCluster) || errors.Is(err, errWentBack) || errors.Is(err, library.ErrDeposed) {
			return fmt.Errorf("%w: %w", errCheck, err)
		}
		if ctx.Err() != nil {
			return nil
		}
		var interrupted error
		if err == nil {
			if !answered {
				f.watches.restart()
				f.set.RequeueFailed()
			}
			interrupted = f.watches.check()
		}
		answered = err == nil
		s.mu.Lock()
		s.checked(err, interrupted)
		s.mu.Unlock()
	}
}

// look calls f.look, and shows in the status that the API server does not answer if that takes long.
func (s *Supervisor) look(ctx context.Context, f *follower, k library.Kind) error {
	done := false // guarded by s.mu
	slow := time.AfterFunc(slowCheck, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !done {
			s.checked(errSlow, nil)
		}
	})
	defer func() {
		slow.Stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		done = true
	}()
	return f.look(ctx, k)
}

// checked records the result of a check: the reason why the API server is unreachable, and the reason why watches are interrupted. The
// caller holds mu.
func (s *Supervisor) checked(unreachable, interrupted error) {
	if reachable := unreachable == nil; reachable != (s.unreachable == nil) {
		if reachable {
			s.options.Logger.Info("API server is reachable again")
		} else {
			s.options.Logger.Info("API server became unreachable", "reason", unreachable.Error())
		}
	}
	s.unreachable = unreachable
	if unreachable != nil {
		return
	}
	if whole := interrupted == nil; whole != (s.interrupted == nil) {
		if whole {
			s.options.Logger.Info("all watches receive events again")
		} else {
			s.options.Logger.Info("watches are interrupted; trying again", "reason", interrupted.Error())
		}
	}
	s.interrupted = interrupted
}

// admit fails if the store holds the manifests of another cluster. In this case, the operator reads and removes nothing, because the
// kubeconfig may be wrong. admit also fails if the library belongs to another installation, because with two Leases, two leaders would
// depose each other.
func (s *Supervisor) admit(install string) error {
	recorded, err := s.options.Library.Mark(markInstall)
	if err != nil {
		return fmt.Errorf("read the recorded cluster identity: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreign, s.rival = "", ""
	if recorded == "" || recorded == install {
		return s.admitLease()
	}
	s.foreign = install
	return fmt.Errorf("the store holds the manifests of cluster %s, and this is cluster %s: check the kubeconfig, or run vitrine sweep --confirm to hand the store over to this cluster", recorded, install)
}

// admitLease fails if the library belongs to an installation with another Lease. The caller holds mu.
func (s *Supervisor) admitLease() error {
	if s.options.Lease == nil {
		return nil
	}
	recorded, err := s.options.Library.Mark(markLease)
	if err != nil {
		return fmt.Errorf("read the recorded Lease: %w", err)
	}
	if recorded == "" || recorded == s.options.Lease.String() {
		return nil
	}
	s.rival = recorded
	return fmt.Errorf("the library belongs to the installation with the Lease %s, and this installation has the Lease %s: "+
		"set another --opensearch-index-prefix, or, if this installation replaces the other one, run vitrine sweep --confirm", recorded, s.options.Lease)
}

// recordLease records the Lease of this installation, if there is one.
func (s *Supervisor) recordLease(ctx context.Context, marks library.Marks) error {
	if s.options.Lease == nil {
		return nil
	}
	if err := marks.SetMark(ctx, markLease, s.options.Lease.String()); err != nil {
		return fmt.Errorf("record the Lease: %w", err)
	}
	return nil
}

// takeOver makes the library belong to this installation.
func (s *Supervisor) takeOver(ctx context.Context) error {
	if err := s.recordLease(ctx, s.options.Library); err != nil {
		return err
	}
	s.mu.Lock()
	s.rival = ""
	s.mu.Unlock()
	s.awake()
	return nil
}

// load runs the bulk load and the sweep, and then starts the reconcilers.
func (s *Supervisor) load(ctx context.Context, f *follower) error {
	if err := f.Library.SetMark(ctx, markInstall, f.set.Install); err != nil {
		return fmt.Errorf("record the cluster identity: %w", err)
	}
	if err := s.recordLease(ctx, f.Library); err != nil {
		return err
	}
	if err := f.set.Load(ctx); err != nil {
		return err
	}
	keep, err := f.set.Owners(ctx)
	if err != nil {
		return err
	}
	removed, err := f.sweep(ctx, keep)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	if err := f.Library.SetMark(ctx, markLoaded, "true"); err != nil {
		return fmt.Errorf("record the complete load: %w", err)
	}
	s.loaded.Store(true)
	s.options.Logger.Info("loaded", "objects", len(keep), "swept", removed, "held", s.holds.len())
	interrupted := f.watches.check()
	s.mu.Lock()
	s.current, s.interrupted = f, interrupted
	s.status.Synced, s.status.LastError = true, nil
	s.mu.Unlock()
	f.set.Begin()
	return nil
}

// Loaded reports whether the store has a record of a complete load by this process or an earlier process. Loaded is cheap to call.
func (s *Supervisor) Loaded() bool { return s.loaded.Load() }

// Status returns the current status. It does not wait for a sweep.
func (s *Supervisor) Status() Status {
	s.mu.Lock()
	st, unreachable, interrupted, leader := s.status, s.unreachable, s.interrupted, s.leader
	st.Standby = s.standby
	s.mu.Unlock()
	st.Remembered = s.loaded.Load()
	if n := s.holds.len(); n > 0 {
		st.HeldSweep = &library.HeldError{Remove: n, Total: int(s.options.Library.State(context.Background()).Definitions)}
	}
	missing := s.holds.missing()
	switch {
	case st.Synced && unreachable != nil:
		st.Message = "serving the last known state: " + unreachable.Error()
	case st.Synced && missing != "":
		st.Message = fmt.Sprintf("serving the last known state of some kinds, because CRDs are missing (%s): install the CRDs (%s)", missing, installCRDs)
	case st.Synced && interrupted != nil:
		st.Message = "serving the last known state: " + interrupted.Error()
	case st.Synced && st.HeldSweep != nil:
		st.Message = st.HeldSweep.Error()
	case st.Synced:
		st.Message = "following the cluster"
	case st.Remembered && st.LastError != nil:
		st.Message = "serving the last known state: " + st.LastError.Error()
	case st.Standby && st.Remembered:
		st.Message = (&NotLeaderError{leader}).Error()
	case st.Remembered:
		st.Message = "serving the last known state: the first load of this process is under way"
	case st.LastError != nil:
		st.Message = "nothing loaded yet: " + st.LastError.Error()
	default:
		st.Message = "nothing loaded yet: the first load is under way"
	}
	return st
}

// ErrNothingHeld means that there is nothing to confirm: neither a sweep nor a handover.
var ErrNothingHeld = errors.New("nothing to confirm: no sweep is held, and the store belongs to this cluster")

// ConfirmSweep runs the held sweep and returns the number of removed definitions. If no sweep is held, it returns ErrNothingHeld. If
// another replica runs the controllers, it returns a *NotLeaderError.
//
// If the store belongs to another cluster, ConfirmSweep removes the definitions of that cluster and hands the store to the present cluster.
// After that, the store counts as not loaded until the manifests of the present cluster are loaded. If the library belongs to another
// installation of this cluster, ConfirmSweep hands it over and removes nothing.
func (s *Supervisor) ConfirmSweep(ctx context.Context) (int, error) {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	s.mu.Lock()
	foreign, rival, current, standby, leader := s.foreign, s.rival, s.current, s.standby, s.leader
	s.mu.Unlock()
	if foreign != "" {
		return s.handOver(ctx, foreign)
	}
	if rival != "" {
		return 0, s.takeOver(ctx)
	}
	if standby {
		return 0, &NotLeaderError{leader}
	}
	if current == nil || s.holds.len() == 0 {
		return 0, ErrNothingHeld
	}
	return current.confirmedSweep(ctx)
}

func (s *Supervisor) handOver(ctx context.Context, to string) (int, error) {
	lib := s.options.Library
	recorded, err := lib.Mark(markInstall)
	if err != nil {
		return 0, fmt.Errorf("read the recorded cluster identity: %w", err)
	}
	if recorded == to { // another replica has already handed the store over
		s.mu.Lock()
		s.foreign = ""
		s.mu.Unlock()
		return 0, ErrNothingHeld
	}
	// Clear the record of the load first, so that a store does not count as loaded if the process dies before all definitions are removed.
	if err := lib.SetMark(ctx, markLoaded, ""); err != nil {
		return 0, fmt.Errorf("record that nothing is loaded: %w", err)
	}
	s.loaded.Store(false)
	removed, err := lib.Sweep(ctx, library.Scope{Install: recorded, Confirmed: true, Kinds: library.Kinds()}, nil)
	if err != nil {
		return 0, fmt.Errorf("remove the definitions of the other cluster: %w", err)
	}
	if err := lib.SetMark(ctx, markInstall, to); err != nil {
		return removed, fmt.Errorf("record the cluster identity: %w", err)
	}
	if err := s.recordLease(ctx, lib); err != nil {
		return removed, err
	}
	s.mu.Lock()
	s.foreign = ""
	s.mu.Unlock()
	s.awake()
	return removed, nil
}

// awake ends the pause before the next attempt.
func (s *Supervisor) awake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
