package scale

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/hack/controlplane/plane"
	"github.com/vitrine-dev/vitrine/server/library"
)

var (
	objects = flag.Int("objects", 10_000, "number of objects in the large part; the small part has 1,000, or this number if it is smaller")
	docs    = flag.String("docs", "", "write scale.md and scale.json into this directory; empty prints the table")
	check   = flag.Bool("check", false, "fail if a figure is out of its range")
)

// The operator watches only the first of these namespaces. The bare client uses the second namespace.
const (
	watched   = "scale"
	unwatched = "bare"
)

// workers is the number of concurrent requests of the bare client, and of the client that creates objects for the operator. rounds is the
// number of rounds of their comparison.
const (
	workers = 8
	rounds  = 3
)

// words contains the words of the queries of filters. The queries need not match any item.
var words = strings.Fields("beach sunset summer city mountain coffee dog running vintage garden travel music")

// measurement is the state of the run.
type measurement struct {
	*testing.B
	report.Scale
	typed        kubernetes.Interface
	kube         client.WithWatch
	binary, work string
	kubeconfig   string
	server       *subject.Vitrine
	token        string
}

func BenchmarkOperator(b *testing.B) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		b.Fatal("KUBEBUILDER_ASSETS is not set: run make scale, which sets it")
	}
	m := &measurement{B: b, work: b.TempDir(), Scale: report.Scale{
		Date: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(), Processors: runtime.NumCPU(), Objects: *objects, Small: min(1000, *objects),
	}}
	m.startCluster()
	m.binary = subject.BuildVitrine(b, "../../..", m.work)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"set up", m.setUp},
		{"create beside a bare client", m.create},
		{"one broken object", m.broken},
		{"created to served", m.served},
		{"many objects", m.many},
		{"at rest", m.rest},
		{"restart", m.restart},
	} {
		fmt.Fprintln(os.Stderr, step.name)
		step.do()
	}
	m.server.Stop(b, syscall.SIGKILL)
	if fmt.Print(m.Table()); *docs != "" {
		m.must(m.Write(*docs))
	}
	if out := m.OutOfRange(); *check && len(out) > 0 {
		b.Fatal("out of range:\n  " + strings.Join(out, "\n  "))
	}
}

// must fails the benchmark if err is not nil.
func (m *measurement) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// startCluster starts a kube-apiserver with its own etcd.
func (m *measurement) startCluster() {
	ctrllog.SetLogger(logr.Discard())
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../../config/crd/bases"}, ErrorIfCRDPathMissing: true}
	// The limits on concurrent requests are the defaults of envtest, which are also usual for a small real API server.
	config, err := env.Start()
	m.must(err)
	m.Cleanup(func() { _ = env.Stop() })
	// Disable client-side throttling, so that only the API server and the operator limit the speed.
	config.QPS = -1
	m.must(v1alpha1.AddToScheme(scheme.Scheme))
	m.kube, err = client.NewWithWatch(config, client.Options{})
	m.must(err)
	m.typed, err = kubernetes.NewForConfig(config)
	m.must(err)
	m.kubeconfig = filepath.Join(m.work, "kubeconfig")
	m.must(os.WriteFile(m.kubeconfig, env.KubeConfig, 0o600))
	m.poll(50*time.Millisecond, "the namespace kube-system", func(ctx context.Context) (bool, error) {
		return m.kube.Get(ctx, types.NamespacedName{Name: "kube-system"}, &corev1.Namespace{}) == nil, nil
	})
}

// writes returns the API server's counts of requests that change objects of Vitrine's kinds, or Events.
func (m *measurement) writes() plane.Writes {
	text, err := m.typed.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(m.Context())
	m.must(err)
	counts, err := plane.CountWrites(string(text), v1alpha1.GroupVersion.Group, eventsv1.GroupName)
	m.must(err)
	return counts
}

// during calls do and returns the writes to the API server during the call.
func (m *measurement) during(do func()) plane.Writes {
	before := m.writes()
	do()
	return m.writes().Since(before)
}

// each calls do with each i from 0 to n-1, at most workers calls at a time, and returns the first error.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// setUp starts the operator with a property and a token.
func (m *measurement) setUp() {
	m.start()
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: watched}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unwatched}},
		&v1alpha1.Property{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: "default"}, Spec: v1alpha1.PropertySpec{DisplayName: "Scale"}},
		&v1alpha1.AccessToken{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: "reader"}, Spec: v1alpha1.AccessTokenSpec{Class: v1alpha1.ReadWrite}},
	} {
		m.must(m.kube.Create(m.Context(), o))
	}
	m.poll(20*time.Millisecond, "the token", func(ctx context.Context) (bool, error) {
		var secret corev1.Secret
		err := m.kube.Get(ctx, types.NamespacedName{Namespace: watched, Name: "reader"}, &secret)
		m.token = string(secret.Data["token"])
		return m.token != "", client.IgnoreNotFound(err)
	})
	m.HeapEmpty = m.heap()
}

// patience is the maximum time that the measurement waits for a condition.
const patience = 5 * time.Minute

// poll calls done at the given interval until done returns true. It fails after the time patience.
func (m *measurement) poll(every time.Duration, what string, done wait.ConditionWithContextFunc) {
	m.Helper()
	if err := wait.PollUntilContextTimeout(m.Context(), every, patience, true, done); err != nil {
		m.Fatalf("wait for %s: %v", what, err)
	}
}

// start starts the operator and waits until it is ready.
func (m *measurement) start() {
	m.server = subject.Serve(m, m.binary, &subject.Store{Dir: filepath.Join(m.work, "data")},
		"--kubeconfig", m.kubeconfig, "--watch-namespaces", watched, "--https-bind-address", "127.0.0.1:0", "--log-level", "warn")
}

// heap returns the live bytes of the operator's heap after two garbage collections: objects in a sync.Pool survive the first one.
func (m *measurement) heap() float64 {
	m.server.Collect(m)
	m.server.Collect(m)
	return m.server.Metric(m, "go_gc_heap_live_bytes")
}

// filters returns n filters whose names begin with prefix.
func filters(namespace, prefix string, n int) []*v1alpha1.ContentFilter {
	list := make([]*v1alpha1.ContentFilter, n)
	for i := range list {
		list[i] = &v1alpha1.ContentFilter{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s%05d", prefix, i)},
			Spec: v1alpha1.ContentFilterSpec{Query: fmt.Sprintf("approval_status:app AND (text:%s OR text:%s) AND created_on:[%d TO *]",
				words[i%len(words)], words[(i/len(words))%len(words)], 2000+i%26)},
		}
	}
	return list
}

// create measures the time until new filters are Ready. It compares this time with that of a bare client, which creates the same objects
// and writes one status for each of them. Both times include the cost of the same watch.
func (m *measurement) create() {
	for round := range rounds {
		prefix := fmt.Sprintf("round%d-", round)
		m.Bare = append(m.Bare, m.untilReady(filters(unwatched, prefix, m.Small), m.createWithStatus))
		written := m.during(func() { m.Create = append(m.Create, m.untilReady(filters(watched, prefix, m.Small), m.createOne)) })
		m.StatusWrites = append(m.StatusWrites, written["contentfilters/status"])
		if round < rounds-1 {
			m.remove(watched, prefix)
		}
		m.remove(unwatched, "")
	}
}

// createOne creates a filter, whose status the operator writes.
func (m *measurement) createOne(ctx context.Context, f *v1alpha1.ContentFilter) error {
	return m.kube.Create(ctx, f)
}

// createWithStatus creates a filter and writes the same status as the operator.
func (m *measurement) createWithStatus(ctx context.Context, f *v1alpha1.ContentFilter) error {
	if err := m.kube.Create(ctx, f); err != nil {
		return err
	}
	before := f.DeepCopy()
	f.Status.ObservedGeneration = f.Generation
	f.Status.URL = "https://content.example/v2/content/filters/" + string(f.UID)
	meta.SetStatusCondition(&f.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Served", Message: "the filter is served"})
	meta.SetStatusCondition(&f.Status.Conditions, metav1.Condition{Type: "QueryValid", Status: metav1.ConditionTrue, Reason: "Parsed", Message: "the query parses"})
	return m.kube.Status().Patch(ctx, f, client.MergeFrom(before))
}

// untilReady creates filters in one namespace. It returns the time in seconds until a watch has reported all of them, except those with
// brokenQuery, as Ready.
func (m *measurement) untilReady(filters []*v1alpha1.ContentFilter, create func(context.Context, *v1alpha1.ContentFilter) error) float64 {
	waits := map[string]bool{}
	for _, f := range filters {
		if f.Spec.Query != brokenQuery {
			waits[f.Name] = true
		}
	}
	ctx, cancel := context.WithTimeout(m.Context(), patience)
	defer cancel()
	w, err := m.kube.Watch(ctx, &v1alpha1.ContentFilterList{}, client.InNamespace(filters[0].Namespace))
	m.must(err)
	defer w.Stop()
	created := make(chan error, 1)
	began := time.Now()
	go func() {
		created <- each(ctx, len(filters), func(ctx context.Context, i int) error { return create(ctx, filters[i]) })
	}()
	var took time.Duration
	for len(waits) > 0 || created != nil {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				m.Fatalf("%d filters are not Ready", len(waits))
			}
			f, ok := e.Object.(*v1alpha1.ContentFilter)
			if ok && waits[f.Name] && e.Type != watch.Deleted && meta.IsStatusConditionTrue(f.Status.Conditions, "Ready") {
				delete(waits, f.Name)
				took = time.Since(began)
			}
		case err := <-created:
			m.must(err)
			created = nil
		}
	}
	return took.Seconds()
}

// remove deletes the filters of a namespace whose names begin with prefix. Filters have no finalizer, so they are gone when the
// request returns.
func (m *measurement) remove(namespace, prefix string) {
	var list v1alpha1.ContentFilterList
	m.must(m.kube.List(m.Context(), &list, client.InNamespace(namespace)))
	m.must(each(m.Context(), len(list.Items), func(ctx context.Context, i int) error {
		if !strings.HasPrefix(list.Items[i].Name, prefix) {
			return nil
		}
		return client.IgnoreNotFound(m.kube.Delete(ctx, &list.Items[i]))
	}))
}

// brokenQuery is a query that does not parse.
const brokenQuery = "approval_status:app AND (beach OR"

// broken creates as many filters as create, one of which has an invalid query, and measures the time until the other filters are Ready.
func (m *measurement) broken() {
	list := filters(watched, "broken-", m.Small)
	list[len(list)/2].Spec.Query = brokenQuery
	m.Broken = m.untilReady(list, m.createOne)
	m.remove(watched, "broken-")
}

// served creates filters one after the other. For each of them, it measures the time from the API server's response until the server
// returns the first correct page. It computes the UUID of the filter, because it needs the UUID before the operator has set the status.
func (m *measurement) served() {
	for _, f := range filters(watched, "served-", 200) {
		f.Spec.Query = "*:*"
		began := time.Now()
		m.must(m.kube.Create(m.Context(), f))
		uuid, _ := library.FilterIDs(library.PropertyID(f.Namespace+"/default"), library.KindFilter, f.Namespace, f.Name)
		m.poll(time.Millisecond, "the filter "+f.Name, func(ctx context.Context) (bool, error) {
			resp, err := load.Send(ctx, m.server.Filter(uuid, m.token))
			if err != nil {
				return false, err
			}
			if resp.Status >= http.StatusInternalServerError {
				return false, fmt.Errorf("a page returned %d: %s", resp.Status, resp.Body)
			}
			_, err = subject.Total(resp.Body)
			return err == nil, nil
		})
		m.Served = append(m.Served, float64(time.Since(began).Microseconds())/1000)
	}
	slices.Sort(m.Served)
	m.remove(watched, "served-")
}

// many creates the remaining filters, and tags with rules.
func (m *measurement) many() {
	m.Tags = max(1, m.Objects/10)
	if rest := m.Objects - m.Small - m.Tags; rest > 0 {
		m.Many = m.untilReady(filters(watched, "many-", rest), m.createOne)
	}
	began := time.Now()
	m.TagStatusWrites = m.during(m.createTags)["tags/status"]
	m.TagsReady = time.Since(began).Seconds()
}

// createTags creates tags and waits until all of them are Ready.
func (m *measurement) createTags() {
	m.must(each(m.Context(), m.Tags, func(ctx context.Context, i int) error {
		return m.kube.Create(ctx, &v1alpha1.Tag{
			ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: fmt.Sprintf("tag-%05d", i)},
			Spec: v1alpha1.TagSpec{
				Namespace: "marketer_tags", Key: tagKey(i), Selector: &v1alpha1.Selector{Query: "text:" + words[i%len(words)]},
			},
		})
	}))
	m.poll(100*time.Millisecond, "the tags", func(ctx context.Context) (bool, error) {
		var list v1alpha1.TagList
		err := m.kube.List(ctx, &list, client.InNamespace(watched))
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
func (m *measurement) rest() {
	m.settle()
	m.RestWrites = m.during(func() {
		used := m.server.CPU(m)
		<-time.After(report.RestTime)
		m.RestCPU = (m.server.CPU(m) - used).Seconds() / report.RestTime.Seconds()
	}).Total()
	m.HeapFull = m.heap()
}

// settle waits until the API server has counted no writes for some seconds.
func (m *measurement) settle() {
	since, last := time.Now(), m.writes()
	m.poll(500*time.Millisecond, "the last write", func(context.Context) (bool, error) {
		if now := m.writes(); now.Total() != last.Total() {
			since, last = time.Now(), now
		}
		return time.Since(since) >= 5*time.Second, nil
	})
}

// restart measures a restart of the operator while all objects exist, and the full resync that follows. It compares the restart with one
// list of the objects of all kinds in parallel, as the operator's caches do when they start.
func (m *measurement) restart() {
	m.ResyncWrites = m.during(func() {
		m.server.Stop(m, syscall.SIGTERM)
		kinds, began := v1alpha1.Kinds(), time.Now()
		m.must(each(m.Context(), len(kinds), func(ctx context.Context, i int) error {
			return m.kube.List(ctx, kinds[i].NewList(), client.InNamespace(watched))
		}))
		m.List = time.Since(began).Seconds()
		m.start()
		m.Restart = m.server.Ready.Seconds()
		m.settle()
	}).Total()
}
