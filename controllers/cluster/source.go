package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// source watches the objects of one kind at the API server, and passes them to an informer.
//
// An informer of client-go waits up to a minute between two attempts to watch, and nothing can end this wait. A source therefore runs the
// client-go Reflector itself, and can replace it at any time with restart. A new Reflector lists all objects at once. The source compares
// this list with the objects that it has passed on, and passes on only the differences. The informer does not notice the restart: its
// watch never ends, and its handlers receive exactly one event for each object that was created, changed or deleted meanwhile.
type source struct {
	upstream toolscache.ListerWatcherWithContext
	example  client.Object
	events   chan watch.Event
	// synced is closed after the first complete list.
	synced chan struct{}
	// done is closed when run ends.
	done <-chan struct{}
	// turn orders the events of consecutive Reflectors.
	turn sync.Mutex

	mu sync.Mutex
	// known contains the objects that the API server has shown, by namespace and name. They belong to the informer's cache: do not modify
	// them.
	known map[client.ObjectKey]client.Object
	// version is the newest resource version that the API server has shown in a list, an event or a bookmark.
	version string
	// cancel ends the present Reflector.
	cancel context.CancelFunc
	// busy is true while the Reflector waits for the API server to accept a request. open is true while the API server sends events.
	busy, open bool
	// proven is true if the API server has sent all objects since the last failure, or has kept the present watch open since an earlier check.
	// The API server accepts a watch before it reports that the resource version is too old, so an open watch alone proves nothing.
	proven bool
	// failure is the reason for which the last request failed; nil if the last request succeeded.
	failure error
}

// watchBackoff is the pause between two attempts of a Reflector. It starts with a shorter pause than client-go's default, because an API
// server that has just started rejects requests for a moment.
var watchBackoff = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 30 * time.Second}

// shortWatch is the duration of a watch that ends because the API server rejects it. Other watches end after minutes.
const shortWatch = time.Second

func newSource(upstream toolscache.ListerWatcher, example client.Object) *source {
	return &source{
		upstream: toolscache.ToListerWatcherWithContext(upstream), example: example,
		events: make(chan watch.Event), synced: make(chan struct{}), known: map[client.ObjectKey]client.Object{},
	}
}

// run runs Reflectors until ctx ends. It does not wait for an ended Reflector, because a Reflector may continue to sleep for a while.
func (s *source) run(ctx context.Context) {
	for ctx.Err() == nil {
		current, cancel := context.WithCancel(ctx)
		s.mu.Lock()
		s.cancel, s.busy, s.open, s.proven = cancel, false, false, false
		s.mu.Unlock()
		r := &session{source: s, ctx: current}
		reflector := toolscache.NewReflectorWithOptions(r, s.example, r, toolscache.ReflectorOptions{Name: "vitrine", Backoff: &watchBackoff})
		// Discard the messages of the Reflector, which repeats them for each attempt. The Supervisor logs the reason once.
		go reflector.RunWithContext(klog.NewContext(current, logr.Discard()))
		<-current.Done()
		cancel()
	}
}

// restart lists and watches again without delay, unless the API server sends events at present.
func (s *source) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open && s.cancel != nil {
		s.cancel()
	}
}

// hasten ends a pause between two attempts. In contrast to restart, it does not end a request to an API server that takes long to answer.
func (s *source) hasten() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open && !s.busy && s.cancel != nil {
		s.cancel()
	}
}

// check returns nil if the source receives all events. The Supervisor calls it after each check that the API server answered.
func (s *source) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	following := s.open && s.proven
	if s.open {
		s.proven = true // unless the watch fails before the next check
	}
	if following {
		return nil
	}
	err := fmt.Errorf("the watch of %s objects is interrupted", reflect.TypeOf(s.example).Elem().Name())
	if s.failure != nil {
		err = fmt.Errorf("%w: %w", err, s.failure)
	}
	return err
}

// seen returns the newest resource version that the source has seen.
func (s *source) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// feed is the toolscache.ListerWatcher from which the informer reads.
type feed struct{ *source }

// IsWatchListSemanticsUnSupported makes the informer list first, and then watch. client-go prescribes the name.
func (feed) IsWatchListSemanticsUnSupported() bool { return true }

// ListWithContext returns the known objects. It waits until they are complete.
func (f feed) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	select {
	case <-f.synced:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: f.version}}
	for _, o := range f.known {
		list.Items = append(list.Items, runtime.RawExtension{Object: o})
	}
	return list, nil
}

// WatchWithContext returns the events after the list. It never ends.
func (f feed) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return f, nil
}

// List implements toolscache.ListerWatcher.
func (f feed) List(o metav1.ListOptions) (runtime.Object, error) {
	return f.ListWithContext(context.Background(), o)
}

// Watch implements toolscache.ListerWatcher.
func (f feed) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return f.WatchWithContext(context.Background(), o)
}

// ResultChan implements watch.Interface.
func (f feed) ResultChan() <-chan watch.Event { return f.events }

// Stop implements watch.Interface.
func (feed) Stop() {}

// session connects one Reflector with its source: the Reflector lists and watches through it, and stores the objects in it. After its
// context has ended, a session changes nothing.
type session struct {
	*source
	ctx context.Context
}

// note changes the state of the source, and reports whether it did. It changes nothing if the session has ended.
func (r *session) note(change func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return false
	}
	change()
	return true
}

// send passes an event to the informer. It does not stop when the session ends, because the source already knows the object.
func (r *session) send(event watch.EventType, object client.Object) {
	select {
	case r.events <- watch.Event{Type: event, Object: object}:
	case <-r.done:
	}
}

// failed records that a request failed.
func (r *session) failed(err error) {
	if at := (*url.Error)(nil); errors.As(err, &at) {
		err = at.Err // without the long address
	}
	r.note(func() { r.busy, r.open, r.proven, r.failure = false, false, false, err })
}

// ListWithContext lists the objects at the API server.
func (r *session) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = "" // "0" permits a list that is older than a deletion which the API server has already confirmed
	}
	r.note(func() { r.busy = true })
	list, err := r.upstream.ListWithContext(ctx, o)
	if err != nil {
		r.failed(err)
		return nil, err
	}
	r.note(func() { r.busy = false })
	return list, nil
}

// WatchWithContext watches the objects at the API server.
func (r *session) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	r.note(func() { r.busy = true })
	w, err := r.upstream.WatchWithContext(ctx, o)
	if err != nil {
		r.failed(err)
		return nil, err
	}
	r.note(func() { r.busy, r.open, r.failure = false, true, nil })
	return &stream{Interface: w, session: r, since: time.Now()}, nil
}

// List implements toolscache.ListerWatcher.
func (r *session) List(o metav1.ListOptions) (runtime.Object, error) {
	return r.ListWithContext(r.ctx, o)
}

// Watch implements toolscache.ListerWatcher.
func (r *session) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return r.WatchWithContext(r.ctx, o)
}

// stream is a watch at the API server.
type stream struct {
	watch.Interface
	session *session
	since   time.Time
	once    sync.Once
}

// Stop implements watch.Interface. A Reflector calls it after every watch, even if the API server ended the watch.
func (w *stream) Stop() {
	w.once.Do(func() {
		w.session.note(func() {
			w.session.open = false
			if time.Since(w.since) < shortWatch {
				w.session.proven = false
			}
		})
	})
	w.Interface.Stop()
}

// Add implements toolscache.ReflectorStore.
func (r *session) Add(o any) error { return r.put(watch.Added, o) }

// Update implements toolscache.ReflectorStore.
func (r *session) Update(o any) error { return r.put(watch.Modified, o) }

// Resync implements toolscache.ReflectorStore. There is nothing to do, because no Reflector has a resync period.
func (r *session) Resync() error { return nil }

// put passes on an object that was created or changed.
func (r *session) put(event watch.EventType, o any) error {
	object, err := received(o)
	if err != nil {
		return err
	}
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.note(func() { r.known[client.ObjectKeyFromObject(object)], r.version = object, object.GetResourceVersion() }) {
		r.send(event, object)
	}
	return nil
}

// Delete implements toolscache.ReflectorStore.
func (r *session) Delete(o any) error {
	object, err := received(o)
	if err != nil {
		return err
	}
	r.turn.Lock()
	defer r.turn.Unlock()
	changed := r.note(func() {
		delete(r.known, client.ObjectKeyFromObject(object))
		r.version = object.GetResourceVersion()
	})
	if changed {
		r.send(watch.Deleted, object)
	}
	return nil
}

// Bookmark implements toolscache.ReflectorBookmarkStore.
func (r *session) Bookmark(version string) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	r.bookmark(version)
	return nil
}

// Replace implements toolscache.ReflectorStore. It passes on the differences between the known objects and a complete list.
func (r *session) Replace(list []any, version string) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	complete := make(map[client.ObjectKey]client.Object, len(list))
	for _, o := range list {
		object, err := received(o)
		if err != nil {
			return err
		}
		complete[client.ObjectKeyFromObject(object)] = object
	}
	var changes []watch.Event
	changed := r.note(func() {
		changes = differences(r.known, complete)
		r.known, r.version, r.proven = complete, version, true
	})
	if !changed {
		return nil
	}
	select {
	case <-r.synced:
	default:
		close(r.synced) // the informer lists the objects
		return nil
	}
	for _, c := range changes {
		r.send(c.Type, c.Object.(client.Object))
	}
	r.bookmark(version)
	return nil
}

// differences returns the events that lead from the objects before to the objects after. An object that is equal in both becomes the same
// object, because the informer already has it in memory.
func differences(before, after map[client.ObjectKey]client.Object) []watch.Event {
	var events []watch.Event
	for key, old := range before {
		if o, ok := after[key]; !ok || o.GetUID() != old.GetUID() {
			events = append(events, watch.Event{Type: watch.Deleted, Object: old})
		}
	}
	for key, o := range after {
		switch old, ok := before[key]; {
		case !ok || o.GetUID() != old.GetUID():
			events = append(events, watch.Event{Type: watch.Added, Object: o})
		case o.GetResourceVersion() != old.GetResourceVersion():
			events = append(events, watch.Event{Type: watch.Modified, Object: o})
		default:
			after[key] = old
		}
	}
	return events
}

// bookmark passes on a resource version. The caller holds turn.
func (r *session) bookmark(version string) {
	if !r.note(func() { r.version = version }) {
		return
	}
	mark := r.example.DeepCopyObject().(client.Object)
	mark.SetResourceVersion(version)
	r.send(watch.Bookmark, mark)
}

// received returns an object from the API server without its managed fields, which nothing reads.
func received(o any) (client.Object, error) {
	object, ok := o.(client.Object)
	if !ok {
		return nil, fmt.Errorf("unexpected %T from the API server", o)
	}
	object.SetManagedFields(nil)
	return object, nil
}
