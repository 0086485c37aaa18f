package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lease is the Lease for which the replicas of a shared library compete. Only its holder runs the controllers.
type Lease struct {
	// Namespace and Name select the Lease. It is created if it does not exist.
	Namespace, Name string
	// Identity is the name of this process among the replicas. It begins with the name of the pod or host, and an underscore.
	Identity string
	// Duration is the time for which the lease stays valid after a renewal, in whole seconds. 0 means 15 seconds. A holder that cannot
	// renew the lease stops its controllers after two thirds of Duration.
	Duration time.Duration
}

func (l *Lease) String() string { return l.Namespace + "/" + l.Name }

// errLeaseLost means that the lease was not renewed in time or was taken over.
var errLeaseLost = errors.New("the lease was lost")

// NotLeaderError means that another replica runs the controllers.
type NotLeaderError struct {
	// Leader is the identity of that replica; "" if it is not known yet.
	Leader string
}

func (e *NotLeaderError) Error() string {
	if e.Leader == "" {
		return "no replica runs the controllers yet: try again in a few seconds"
	}
	pod, _, _ := strings.Cut(e.Leader, "_")
	return fmt.Sprintf("this replica serves content; replica %s runs the controllers", pod)
}

// lead waits until this process holds the lease, and then calls work. It cancels the context of work when the lease is lost or ctx ends. It
// releases the lease only after work has returned, so that two replicas never run the controllers at the same time.
func (s *Supervisor) lead(ctx context.Context, cfg *rest.Config, work func(context.Context) error) error {
	l := s.options.Lease
	leases, err := coordinationv1.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("create a client for the Lease: %w", err)
	}
	lease := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: l.Identity},
	}
	started := make(chan context.Context, 1)
	elector, err := s.elector(lease, started)
	if err != nil {
		return err
	}
	compete, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), s.options.Logger.WithName("lease")))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(compete)
	}()
	// Release the lease here and not in the elector, which would release it before work has returned. lost is necessary because IsLeader still
	// returns true after the elector has lost the lease.
	lost := false
	defer func() {
		stop()
		<-ended
		if elector.IsLeader() && !lost {
			s.release(lease)
		}
	}()
	s.setStandby(true)
	defer s.setStandby(false)
	look := time.NewTicker(s.options.WatchInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			if err := s.recall(); err != nil {
				return err
			}
		case leading := <-started:
			s.setStandby(false)
			working, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(leading, cancel)()
			err := work(working)
			if lost = leading.Err() != nil; lost {
				return errLeaseLost
			}
			return err
		}
	}
}

// elector returns the elector that competes for a lease. When this process holds the lease, the elector sends a context to started. When
// this process has lost the lease, the elector cancels that context.
func (s *Supervisor) elector(lease *resourcelock.LeaseLock, started chan<- context.Context) (*leaderelection.LeaderElector, error) {
	l := s.options.Lease
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: l.Name, Lock: &lock{lease, s},
		LeaseDuration: l.Duration, RenewDeadline: l.Duration * 2 / 3, RetryPeriod: l.Duration * 2 / 15,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { started <- leading },
			OnStoppedLeading: func() {},
			OnNewLeader:      s.setLeader,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("compete for Lease %s: %w", l, err)
	}
	return elector, nil
}

// releaseTimeout is the time limit for the requests that release a lease. If they take longer, the process lets the lease expire.
const releaseTimeout = 2 * time.Second

// release gives up a lease that this process still holds, so that another replica can acquire it before it expires.
func (s *Supervisor) release(lease *resourcelock.LeaseLock) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	record, _, err := lease.Get(ctx)
	if err == nil && record.HolderIdentity == lease.Identity() {
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1
		err = lease.Update(ctx, *record)
	}
	if err != nil {
		s.options.Logger.Info("could not release the lease, which expires by itself", "reason", err.Error())
	}
}

// setStandby records whether this process waits for the lease.
func (s *Supervisor) setStandby(standby bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standby = standby
	if standby {
		s.status.LastError = nil
		s.holds.drop(s.holds.all()...) // the next leader finds the missing objects itself
	}
}

// setLeader records the identity of the lease's holder, or "" if no replica holds the lease.
func (s *Supervisor) setLeader(identity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader = identity
}

// lock is a Lease that reports to the Supervisor whether requests succeed.
type lock struct {
	*resourcelock.LeaseLock
	supervisor *Supervisor
}

// Get implements resourcelock.Interface.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	l.note("read", client.IgnoreNotFound(err))
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	err := l.LeaseLock.Create(ctx, r)
	l.note("create", err)
	return err
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	err := l.LeaseLock.Update(ctx, r)
	l.note("update", err)
	return err
}

// note records the result of a request in the status while this process waits for the lease. A conflict is no failure: it means only that
// another replica wrote the lease first.
func (l *lock) note(verb string, err error) {
	s := l.supervisor
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.standby:
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		s.status.LastError = nil
	default:
		s.status.LastError = fmt.Errorf("%s Lease %s: %w", verb, s.options.Lease, err)
	}
}
