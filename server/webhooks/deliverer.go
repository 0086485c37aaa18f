package webhooks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/feed"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Source is what a Deliverer needs of a library.
type Source interface {
	feed.Source
	library.Marks
	Definition(ctx context.Context, owner library.Owner) (library.Definition, error)
}

// Options configure a Deliverer. All fields except MinBackoff and MaxBackoff are required.
type Options struct {
	Source  Source
	Policy  Policy
	Metrics *Metrics
	Clock   func() time.Time
	// MinBackoff is the time between the first failed attempt and the second, and MaxBackoff is the maximum between two. 0 means a second and
	// an hour.
	MinBackoff, MaxBackoff time.Duration
}

// Deliverer delivers the changes of all webhooks, while Run runs. Its methods are safe for concurrent use.
type Deliverer struct {
	o      Options
	feed   *feed.Feed
	tags   feed.Tags
	client *http.Client
	// changed receives the owner of a webhook whose State has changed.
	changed func(library.Owner)

	mu sync.Mutex
	// ctx is the context of Run; nil before it.
	ctx     context.Context
	workers map[library.Owner]*worker
	running sync.WaitGroup
	// marks is locked while the list of the webhooks with a mark changes.
	marks sync.Mutex
}

// New returns a Deliverer that has no webhooks yet. It calls changed with the owner of a webhook whose State has changed.
func New(o Options, changed func(library.Owner)) (*Deliverer, error) {
	if o.MinBackoff == 0 {
		o.MinBackoff = time.Second
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = time.Hour
	}
	f, err := feed.New(o.Source, o.Clock, rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("follow the changes of listings: %w", err)
	}
	return &Deliverer{o: o, feed: f, tags: feed.NewTags(o.Source.AuthorKey()), client: o.Policy.client(), changed: changed, workers: map[library.Owner]*worker{}}, nil
}

// Run delivers until ctx ends. A Deliverer runs once. The error says why the marks of deleted webhooks could not be removed, which the next
// Run repeats.
func (d *Deliverer) Run(ctx context.Context) error {
	defer d.client.CloseIdleConnections()
	pruned := d.prune(ctx)
	d.mu.Lock()
	d.ctx = ctx
	for _, w := range d.workers {
		d.start(w)
	}
	d.mu.Unlock()
	<-ctx.Done()
	d.running.Wait()
	return pruned
}

// start runs a worker. The caller holds mu.
func (d *Deliverer) start(w *worker) {
	if d.ctx == nil || d.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(d.ctx)
	w.cancel = cancel
	d.running.Go(func() { w.run(ctx, d.ctx) })
}

// Serve makes the Deliverer deliver a webhook as w says. It does nothing if w is unchanged. If the definition has changed or a replay is
// requested, the next attempt is immediate.
func (d *Deliverer) Serve(w Webhook) error {
	revision, err := library.Fingerprint(w.Definition)
	if err != nil {
		return fmt.Errorf("identify the definition: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.workers[w.Owner]
	if old != nil && old.revision == revision && old.hook.Load().BaseURL == w.BaseURL && (w.Replay == "" || w.Replay == old.hook.Load().Replay) {
		old.hook.Store(&w) // the keys may have changed
		select {
		case old.asked <- struct{}{}:
		default: // the worker looks at the hook soon anyway
		}
		return nil
	}
	next := newWorker(d, w, revision)
	if old != nil {
		old.stop()
		next.before = old.ended
	}
	d.workers[w.Owner] = next
	d.start(next)
	return nil
}

// Remove ends the deliveries of a webhook, and removes its mark.
func (d *Deliverer) Remove(owner library.Owner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.workers[owner]; w != nil {
		w.gone.Store(true)
		w.stop()
		delete(d.workers, owner)
	}
}

// State returns the State of a webhook.
func (d *Deliverer) State(owner library.Owner) State {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.workers[owner]; w != nil {
		s := *w.state.Load()
		s.Test, s.Replay = w.tested.Load(), w.replayed.Load()
		return s
	}
	return State{}
}

// markList is the name of the mark with the owners of the webhooks that have a mark.
const markList = "webhooks"

// markName returns the name of the mark of a webhook.
func markName(o library.Owner) string {
	return markList + "/" + o.Install + "/" + o.Namespace + "/" + o.Name
}

// trailName returns the name of the trail of a webhook.
func trailName(o library.Owner) string { return markName(o) + "/trail" }

// mark is what the library keeps of a webhook.
type mark struct {
	Cursor string `json:"cursor"`
	// Created is the creation time of the manifest, so that a new object with the same name begins with a reset.
	Created time.Time `json:"created"`
	// Stopped is the revision that the receiver has stopped.
	Stopped string `json:"stopped,omitempty"`
	// Replayed is the newest replay.
	Replayed *Replayed `json:"replayed,omitempty"`
}

// list returns the owners of the webhooks that have a mark. The caller holds marks.
func (d *Deliverer) list() (owners []library.Owner, err error) {
	return owners, d.read(markList, &owners)
}

// relist changes the list of the webhooks that have a mark. The caller holds marks.
func (d *Deliverer) relist(ctx context.Context, owners []library.Owner) error {
	if err := d.write(ctx, markList, owners); err != nil {
		return fmt.Errorf("record which webhooks have marks: %w", err)
	}
	return nil
}

// save stores the mark of a webhook. The list comes first, so that it contains every webhook that has a mark.
func (d *Deliverer) save(ctx context.Context, o library.Owner, m mark) error {
	d.marks.Lock()
	owners, err := d.list()
	if err == nil && !slices.Contains(owners, o) {
		err = d.relist(ctx, append(owners, o))
	}
	d.marks.Unlock()
	if err == nil {
		err = d.write(ctx, markName(o), m)
	}
	if err != nil {
		return fmt.Errorf("store the cursor of %s: %w", o, err)
	}
	return nil
}

// write stores a value as a mark of the library.
func (d *Deliverer) write(ctx context.Context, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return d.o.Source.SetMark(ctx, name, string(text))
}

// read sets value to what write has stored. It does not change value if there is nothing.
func (d *Deliverer) read(name string, value any) error {
	text, err := d.o.Source.Mark(name)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), value)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// forget removes the mark of a webhook.
func (d *Deliverer) forget(ctx context.Context, o library.Owner) error {
	d.marks.Lock()
	defer d.marks.Unlock()
	owners, err := d.list()
	if err != nil || !slices.Contains(owners, o) {
		return err
	}
	for _, name := range []string{markName(o), trailName(o)} {
		if err := d.o.Source.SetMark(ctx, name, ""); err != nil {
			return fmt.Errorf("remove the cursors of %s: %w", o, err)
		}
	}
	return d.relist(ctx, slices.DeleteFunc(owners, func(other library.Owner) bool { return other == o }))
}

// prune removes the marks of the webhooks that the library has no definition of: their objects were deleted while nothing delivered.
func (d *Deliverer) prune(ctx context.Context) error {
	d.marks.Lock()
	owners, err := d.list()
	d.marks.Unlock()
	for _, o := range owners {
		_, missing := d.o.Source.Definition(ctx, o)
		if errors.Is(missing, library.ErrNotFound) {
			err = errors.Join(err, d.forget(ctx, o))
		}
	}
	return err
}
