package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/server/library"
)

// The operator watches only the first of these namespaces. The bare client uses the second namespace.
const (
	watched   = "scale"
	unwatched = "bare"
)

// words contains the words of the queries of filters. The queries need not match any item.
var words = strings.Fields("beach sunset summer city mountain coffee dog running vintage garden travel music")

// measurement is the state of one run.
type measurement struct {
	settings
	log     *slog.Logger
	cluster *cluster
	client  *load.Client
	binary  string
	work    string
	server  *subject.Vitrine
	token   string
}

func (m *measurement) close() {
	if m.server != nil {
		_ = m.server.Stop(syscall.SIGKILL)
	}
	m.client.Close()
}

func (m *measurement) run(ctx context.Context) (*report.Scale, error) {
	r := &report.Scale{Date: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(), Processors: runtime.NumCPU(), Objects: m.objects, Small: min(1000, m.objects)}
	for _, step := range []struct {
		name string
		do   func(context.Context, *report.Scale) error
	}{
		{"set up", m.setUp},
		{"create beside a bare client", m.create},
		{"one broken object", m.broken},
		{"created to served", m.served},
		{"many objects", m.many},
		{"at rest", m.rest},
		{"restart", m.restart},
	} {
		m.log.Info(step.name)
		if err := step.do(ctx, r); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return r, nil
}

// setUp starts the operator with a property and a token.
func (m *measurement) setUp(ctx context.Context, r *report.Scale) error {
	for _, ns := range []string{watched, unwatched} {
		if err := m.cluster.kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
			return err
		}
	}
	if err := m.start(ctx); err != nil {
		return err
	}
	objects := []client.Object{
		&v1alpha1.Property{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: "default"}, Spec: v1alpha1.PropertySpec{DisplayName: "Scale"}},
		&v1alpha1.AccessToken{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: "reader"}, Spec: v1alpha1.AccessTokenSpec{Class: v1alpha1.ReadWrite}},
	}
	for _, o := range objects {
		if err := m.cluster.kube.Create(ctx, o); err != nil {
			return err
		}
	}
	err := poll(ctx, 20*time.Millisecond, "the token", func(ctx context.Context) (bool, error) {
		var secret corev1.Secret
		err := m.cluster.kube.Get(ctx, types.NamespacedName{Namespace: watched, Name: "reader"}, &secret)
		m.token = string(secret.Data["token"])
		return m.token != "", client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	r.HeapEmpty, err = m.heap(ctx)
	return err
}

// patience is the maximum time that the measurement waits for a condition.
const patience = 5 * time.Minute

// poll calls done at the given interval until done returns true. It fails after the time patience.
func poll(ctx context.Context, every time.Duration, what string, done wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, every, patience, true, done); err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}

// start starts the operator and waits until it is ready.
func (m *measurement) start(ctx context.Context) (err error) {
	m.server, err = subject.Serve(ctx, &subject.Store{Dir: filepath.Join(m.work, "data")}, m.client, subject.ServeOptions{
		Binary: m.binary, Library: "engine", Kubeconfig: m.cluster.kubeconfig, Output: filepath.Join(m.work, "vitrine.log"), Debug: true,
		Flags: []string{"--watch-namespaces", watched, "--https-bind-address", "127.0.0.1:0", "--log-level", "warn"},
	})
	return err
}

// heap returns the live bytes of the operator's heap after two garbage collections: objects in a sync.Pool survive the first one.
func (m *measurement) heap(ctx context.Context) (float64, error) {
	for range 2 {
		if err := m.server.Collect(ctx); err != nil {
			return 0, err
		}
	}
	metrics, err := m.server.Metrics(ctx)
	if err == nil && metrics["go_gc_heap_live_bytes"] == 0 {
		err = errors.New("the operator has no metric go_gc_heap_live_bytes")
	}
	return metrics["go_gc_heap_live_bytes"], err
}

func filter(namespace, name, query string) *v1alpha1.ContentFilter {
	return &v1alpha1.ContentFilter{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ContentFilterSpec{Query: query}}
}

func query(i int) string {
	return fmt.Sprintf("approval_status:app AND (text:%s OR text:%s) AND created_on:[%d TO *]", words[i%len(words)], words[(i/len(words))%len(words)], 2000+i%26)
}

// create measures the time until new filters are Ready. It compares this time with that of a bare client, which creates the same objects
// and writes one status for each of them. Both times include the cost of the same watch.
func (m *measurement) create(ctx context.Context, r *report.Scale) error {
	for round := range m.rounds {
		prefix := fmt.Sprintf("round%d-", round)
		bare, err := m.untilReady(ctx, filters(unwatched, prefix, r.Small), m.createWithStatus)
		if err != nil {
			return err
		}
		var took time.Duration
		written, err := m.cluster.during(ctx, func() (err error) {
			took, err = m.untilReady(ctx, filters(watched, prefix, r.Small), m.createOne)
			return err
		})
		if err != nil {
			return err
		}
		r.Create = append(r.Create, took.Seconds())
		r.Bare = append(r.Bare, bare.Seconds())
		r.StatusWrites = append(r.StatusWrites, written["contentfilters/status"])
		if round < m.rounds-1 {
			if err := m.remove(ctx, watched, prefix); err != nil {
				return err
			}
		}
		if err := m.remove(ctx, unwatched, ""); err != nil {
			return err
		}
	}
	return nil
}

// filters returns n filters whose names begin with prefix.
func filters(namespace, prefix string, n int) []*v1alpha1.ContentFilter {
	list := make([]*v1alpha1.ContentFilter, n)
	for i := range list {
		list[i] = filter(namespace, fmt.Sprintf("%s%05d", prefix, i), query(i))
	}
	return list
}

// createOne creates a filter, whose status the operator writes.
func (m *measurement) createOne(ctx context.Context, f *v1alpha1.ContentFilter) error {
	return m.cluster.kube.Create(ctx, f)
}

// createWithStatus creates a filter and writes the same status as the operator.
func (m *measurement) createWithStatus(ctx context.Context, f *v1alpha1.ContentFilter) error {
	if err := m.cluster.kube.Create(ctx, f); err != nil {
		return err
	}
	before := f.DeepCopy()
	f.Status.ObservedGeneration = f.Generation
	f.Status.URL = "https://content.example/v2/content/filters/" + string(f.UID)
	meta.SetStatusCondition(&f.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Served", Message: "the filter is served"})
	meta.SetStatusCondition(&f.Status.Conditions, metav1.Condition{Type: "QueryValid", Status: metav1.ConditionTrue, Reason: "Parsed", Message: "the query parses"})
	return m.cluster.kube.Status().Patch(ctx, f, client.MergeFrom(before))
}

// untilReady creates filters in one namespace. It returns the time until a watch has reported all of them, except those with brokenQuery,
// as Ready.
func (m *measurement) untilReady(ctx context.Context, filters []*v1alpha1.ContentFilter, create func(context.Context, *v1alpha1.ContentFilter) error) (time.Duration, error) {
	waits := map[string]bool{}
	for _, f := range filters {
		if f.Spec.Query != brokenQuery {
			waits[f.Name] = true
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not every filter is Ready after %s", patience))
	defer cancel()
	w, err := m.cluster.kube.Watch(ctx, &v1alpha1.ContentFilterList{}, client.InNamespace(filters[0].Namespace))
	if err != nil {
		return 0, err
	}
	defer w.Stop()
	created := make(chan error, 1)
	began := time.Now()
	go func() {
		created <- each(ctx, len(filters), m.workers, func(ctx context.Context, i int) error { return create(ctx, filters[i]) })
	}()
	var took time.Duration
	for len(waits) > 0 || created != nil {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				return 0, cmp.Or(context.Cause(ctx), errors.New("the watch has ended"))
			}
			f, ok := e.Object.(*v1alpha1.ContentFilter)
			if ok && waits[f.Name] && e.Type != watch.Deleted && meta.IsStatusConditionTrue(f.Status.Conditions, "Ready") {
				delete(waits, f.Name)
				took = time.Since(began)
			}
		case err := <-created:
			if err != nil {
				return 0, err
			}
			created = nil
		}
	}
	return took, nil
}

// remove deletes the filters of a namespace whose names begin with prefix. Filters have no finalizer, so they are gone when the
// request returns.
func (m *measurement) remove(ctx context.Context, namespace, prefix string) error {
	var list v1alpha1.ContentFilterList
	if err := m.cluster.kube.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return err
	}
	return each(ctx, len(list.Items), m.workers, func(ctx context.Context, i int) error {
		if !strings.HasPrefix(list.Items[i].Name, prefix) {
			return nil
		}
		return client.IgnoreNotFound(m.cluster.kube.Delete(ctx, &list.Items[i]))
	})
}

// brokenQuery is a query that does not parse.
const brokenQuery = "approval_status:app AND (beach OR"

// broken creates as many filters as create, one of which has an invalid query, and measures the time until the other filters are Ready.
func (m *measurement) broken(ctx context.Context, r *report.Scale) error {
	list := filters(watched, "broken-", r.Small)
	list[len(list)/2].Spec.Query = brokenQuery
	took, err := m.untilReady(ctx, list, m.createOne)
	if err != nil {
		return fmt.Errorf("the others: %w", err)
	}
	r.Broken = took.Seconds()
	return m.remove(ctx, watched, "broken-")
}

// filterUUID computes the UUID of a filter from its namespace and name, because the measurement needs it before the operator has set the
// status.
func filterUUID(f *v1alpha1.ContentFilter) string {
	uuid, _ := library.FilterIDs(library.PropertyID(f.Namespace+"/default"), library.KindFilter, f.Namespace, f.Name)
	return uuid
}

// samples is the number of filters that served creates.
const samples = 200

// served creates filters one after the other. For each of them, it measures the time from the API server's response until the server
// returns the first correct page.
func (m *measurement) served(ctx context.Context, r *report.Scale) error {
	for i := range samples {
		f := filter(watched, fmt.Sprintf("served-%05d", i), "*:*")
		began := time.Now()
		if err := m.cluster.kube.Create(ctx, f); err != nil {
			return err
		}
		err := poll(ctx, time.Millisecond, "the filter "+f.Name, func(ctx context.Context) (bool, error) {
			_, body, err := m.client.Do(ctx, m.server.Filter(filterUUID(f), m.token), http.StatusOK)
			if status, ok := errors.AsType[*load.StatusError](err); ok && status.Status < http.StatusInternalServerError {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			_, err = subject.Total(body)
			return err == nil, nil
		})
		if err != nil {
			return err
		}
		r.Served = append(r.Served, float64(time.Since(began).Microseconds())/1000)
	}
	slices.Sort(r.Served)
	return m.remove(ctx, watched, "served-")
}

// many creates the remaining filters, and tags with rules.
func (m *measurement) many(ctx context.Context, r *report.Scale) error {
	tags := max(1, m.objects/10)
	rest := m.objects - r.Small - tags
	if rest > 0 {
		took, err := m.untilReady(ctx, filters(watched, "many-", rest), m.createOne)
		if err != nil {
			return err
		}
		r.Many = took.Seconds()
	}
	began := time.Now()
	written, err := m.cluster.during(ctx, func() error { return m.createTags(ctx, tags) })
	r.Tags, r.TagsReady, r.TagStatusWrites = tags, time.Since(began).Seconds(), written["tags/status"]
	return err
}

// createTags creates tags and waits until all of them are Ready.
func (m *measurement) createTags(ctx context.Context, n int) error {
	err := each(ctx, n, m.workers, func(ctx context.Context, i int) error {
		return m.cluster.kube.Create(ctx, &v1alpha1.Tag{
			ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: fmt.Sprintf("tag-%05d", i)},
			Spec: v1alpha1.TagSpec{
				Namespace: "marketer_tags", Key: tagKey(i), Selector: &v1alpha1.Selector{Query: "text:" + words[i%len(words)]},
			},
		})
	})
	if err != nil {
		return err
	}
	return poll(ctx, 100*time.Millisecond, "the tags", func(ctx context.Context) (bool, error) {
		var list v1alpha1.TagList
		err := m.cluster.kube.List(ctx, &list, client.InNamespace(watched))
		waits := func(t v1alpha1.Tag) bool { return !meta.IsStatusConditionTrue(t.Status.Conditions, "Ready") }
		return !slices.ContainsFunc(list.Items, waits), err
	})
}

// tagKey returns a key that consists of letters and is different for each number.
func tagKey(i int) string {
	key := []byte("scale")
	for ; i > 0; i /= 26 {
		key = append(key, byte('a'+i%26))
	}
	return string(key)
}

// rest measures the processor time and the API writes of the operator while nothing changes.
func (m *measurement) rest(ctx context.Context, r *report.Scale) error {
	if err := m.settle(ctx); err != nil {
		return err
	}
	written, err := m.cluster.during(ctx, func() error {
		used, err := m.server.CPU()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(report.RestTime):
		}
		after, err := m.server.CPU()
		r.RestCPU = (after - used).Seconds() / report.RestTime.Seconds()
		return err
	})
	if err != nil {
		return err
	}
	r.RestWrites = written.Total()
	r.HeapFull, err = m.heap(ctx)
	return err
}

// settle waits until the API server has counted no writes for some seconds.
func (m *measurement) settle(ctx context.Context) error {
	const quiet = 5 * time.Second
	last, err := m.cluster.writes(ctx)
	if err != nil {
		return err
	}
	since := time.Now()
	return poll(ctx, 500*time.Millisecond, "the last write", func(ctx context.Context) (bool, error) {
		now, err := m.cluster.writes(ctx)
		if now.Total() != last.Total() {
			since, last = time.Now(), now
		}
		return time.Since(since) >= quiet, err
	})
}

// restart measures a restart of the operator while all objects exist, and the full resync that follows.
func (m *measurement) restart(ctx context.Context, r *report.Scale) error {
	written, err := m.cluster.during(ctx, func() error {
		if err := m.server.Stop(syscall.SIGTERM); err != nil {
			return err
		}
		list, err := m.list(ctx)
		if err != nil {
			return err
		}
		if err := m.start(ctx); err != nil {
			return err
		}
		r.Restart, r.List = m.server.Ready.Seconds(), list.Seconds()
		return m.settle(ctx)
	})
	r.ResyncWrites = written.Total()
	return err
}

// list returns the time to list the objects of all kinds in parallel, as the operator's caches do when they start.
func (m *measurement) list(ctx context.Context) (time.Duration, error) {
	kinds := v1alpha1.Kinds()
	began := time.Now()
	err := each(ctx, len(kinds), len(kinds), func(ctx context.Context, i int) error {
		return m.cluster.kube.List(ctx, kinds[i].NewList(), client.InNamespace(watched))
	})
	return time.Since(began), err
}
