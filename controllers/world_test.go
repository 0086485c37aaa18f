package controllers_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// externalURL is the address of the server in these specs.
const externalURL = "https://content.example"

// caBundle represents the CA bundle of a server that created its own certificate.
const caBundle = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

// world is the environment of one spec: a namespace, a store, a clock, and an operator that the spec can start and stop.
type world struct {
	namespace string
	lib       library.Library
	clock     *clock
	logs      *logs
	network   *network

	supervisor *cluster.Supervisor
	stop       func()
}

// newWorld creates a world whose operator does not run yet.
func newWorld(ctx context.Context) *world {
	dir := GinkgoT().TempDir() // before the cleanup of the world, so that it is removed after the library is closed
	w := newEmptyWorld(ctx, metav1.ObjectMeta{GenerateName: "spec-"})
	lib, err := reference.Open(reference.Options{Dir: dir, Clock: w.clock.Now})
	Expect(err).NotTo(HaveOccurred())
	w.lib = lib
	return w
}

// newEmptyWorld creates a world with a new namespace and without a library. The caller must set the library.
func newEmptyWorld(ctx context.Context, namespace metav1.ObjectMeta) *world {
	ns := &corev1.Namespace{ObjectMeta: namespace}
	Expect(kube.Create(ctx, ns)).To(Succeed())
	w := &world{namespace: ns.Name, clock: &clock{now: time.Now()}, logs: &logs{}, network: newNetwork(), stop: func() {}}
	DeferCleanup(func(ctx context.Context) {
		w.stop()
		for _, o := range []client.Object{
			&v1alpha1.AccessToken{}, &v1alpha1.ContentFilter{}, &v1alpha1.Tag{}, &v1alpha1.ActivateUnit{}, &v1alpha1.Webhook{}, &v1alpha1.Property{}, &corev1.Secret{},
		} {
			Expect(kube.DeleteAllOf(ctx, o, client.InNamespace(w.namespace))).To(Succeed())
		}
		Expect(w.lib.Close()).To(Succeed())
	})
	return w
}

// newServedWorld creates a world with the Property "default", three items in it, and a running operator.
func newServedWorld(ctx context.Context) *world {
	w := newWorld(ctx)
	w.start()
	w.apply(ctx, w.property("default"))
	w.post(ctx, 1, 2, 3)
	return w
}

// start runs an operator with the world's namespace and store until stop is called.
func (w *world) start(changes ...func(*cluster.Options)) {
	w.launch(changes...)
	Eventually(func() string {
		if s := w.supervisor.Status(); !s.Synced {
			return s.Message
		}
		return ""
	}).Should(BeEmpty(), "the operator has to load")
}

// launch is like start, but does not wait for the load.
func (w *world) launch(changes ...func(*cluster.Options)) {
	w.stop()
	o := cluster.Options{
		RESTConfig:    func() (*rest.Config, error) { return w.network.config(clusterConf), nil },
		Library:       w.lib,
		Namespaces:    []string{w.namespace},
		ExternalURL:   externalURL,
		CABundle:      []byte(caBundle),
		Clock:         w.clock.Now,
		Logger:        funcr.New(w.logs.add, funcr.Options{Verbosity: 1}),
		CountInterval: 50 * time.Millisecond,
		PropertyGrace: -1,
		MaxBackoff:    2 * time.Second,
	}
	for _, change := range changes {
		change(&o)
	}
	s, err := cluster.NewSupervisor(o)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w.supervisor = s
	w.stop = func() {
		cancel()
		Eventually(done).Should(Receive(Succeed()), "the supervisor has to stop without an error when its context ends")
		w.stop = func() {}
	}
}

// apply creates an object and waits until its status is current.
func (w *world) apply(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Expect(kube.Create(ctx, o)).To(Succeed())
	w.settle(ctx, o, kstatus.CurrentStatus)
}

// change updates an object, and retries after a conflict.
func (w *world) change(ctx context.Context, o client.Object, change func()) {
	GinkgoHelper()
	Eventually(func() error {
		if err := kube.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return kube.Update(ctx, o)
	}).Should(Succeed())
}

// remove deletes an object.
func (w *world) remove(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Expect(kube.Delete(ctx, o)).To(Succeed())
	Eventually(func() bool {
		return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object)))
	}).Should(BeTrue(), "nothing may delay a deletion")
}

// pastSecond waits until the current second is over. The wait is necessary because creation times are whole seconds: an object with the
// same creation time as the CRD of its kind counts as an object of that CRD.
func (w *world) pastSecond() {
	GinkgoHelper()
	now := time.Now().Truncate(time.Second)
	Eventually(func() bool { return time.Now().Truncate(time.Second).After(now) }).Should(BeTrue())
}

// settle waits until kstatus computes the status want for the newest spec of o. It then checks the status of o with lint, and returns the
// Ready condition.
func (w *world) settle(ctx context.Context, o client.Object, want kstatus.Status) metav1.Condition {
	GinkgoHelper()
	Eventually(func() (string, error) {
		u, err := w.read(ctx, o)
		if err != nil {
			return "", err
		}
		result, err := kstatus.Compute(u)
		if err != nil {
			return "", err
		}
		if result.Status != want || observed(u) != u.GetGeneration() {
			return fmt.Sprintf("%s (observed %d of generation %d): %s", result.Status, observed(u), u.GetGeneration(), result.Message), nil
		}
		return "", nil
	}).Should(BeEmpty(), "%T %s has to become %s", o, o.GetName(), want)
	w.lint(ctx, o)
	c := w.condition(ctx, o, v1alpha1.ReadyCondition)
	Expect(c).NotTo(BeNil())
	return *c
}

func observed(u *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return n
}

// lint checks the status of o against the rules for every kind.
func (w *world) lint(ctx context.Context, o client.Object) {
	GinkgoHelper()
	u, err := w.read(ctx, o)
	Expect(err).NotTo(HaveOccurred())
	Expect(lintStatus(u)).To(BeEmpty(), "the status of %T %s", o, o.GetName())
}

// read returns o from the API server.
func (w *world) read(ctx context.Context, o client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(o, kube.Scheme())
	if err != nil {
		return nil, err
	}
	if err := kube.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

// condition returns a condition of o from the API server, or nil if o does not have it.
func (w *world) condition(ctx context.Context, o client.Object, kind string) *metav1.Condition {
	GinkgoHelper()
	Expect(kube.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
	for _, c := range *o.(v1alpha1.Object).StatusConditions() {
		if c.Type == kind {
			return &c
		}
	}
	return nil
}

// about returns the names of the objects that events with a reason are about.
func (w *world) about(ctx context.Context, reason string) (names []string, err error) {
	var list eventsv1.EventList
	err = kube.List(ctx, &list, client.InNamespace(w.namespace))
	for _, e := range list.Items {
		if e.Reason == reason {
			names = append(names, e.Regarding.Name)
		}
	}
	return names, err
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) property(name string) *v1alpha1.Property {
	return &v1alpha1.Property{ObjectMeta: w.meta(name), Spec: v1alpha1.PropertySpec{DisplayName: "Shop"}}
}

func (w *world) filter(name, q string) *v1alpha1.ContentFilter {
	return &v1alpha1.ContentFilter{ObjectMeta: w.meta(name), Spec: v1alpha1.ContentFilterSpec{Query: q}}
}

func (w *world) tag(name, key string, ids ...int64) *v1alpha1.Tag {
	return &v1alpha1.Tag{ObjectMeta: w.meta(name), Spec: v1alpha1.TagSpec{Namespace: "marketer_tags", Key: key, Items: ids}}
}

func (w *world) unit(name string) *v1alpha1.ActivateUnit {
	return &v1alpha1.ActivateUnit{ObjectMeta: w.meta(name), Spec: v1alpha1.ActivateUnitSpec{
		Name: "Sandals", ImageURL: "https://cdn.example/s.png", ClickThroughURL: "https://shop.example/s",
	}}
}

func (w *world) webhook(name, url string) *v1alpha1.Webhook {
	return &v1alpha1.Webhook{ObjectMeta: w.meta(name), Spec: v1alpha1.WebhookSpec{URL: url, Query: "approval_status:pen"}}
}

func (w *world) token(name string) *v1alpha1.AccessToken {
	return &v1alpha1.AccessToken{ObjectMeta: w.meta(name), Spec: v1alpha1.AccessTokenSpec{Class: v1alpha1.ReadOnly}}
}

// tagOf returns a tag in the tag namespace that the method tag uses.
func tagOf(key string) item.Tag { return item.Tag{Namespace: "marketer_tags", Key: key} }

// id returns the PropertyID of a Property of the world.
func (w *world) id(name string) library.PropertyID {
	return library.PropertyID(w.namespace + "/" + name)
}

// post writes approved images with the given ids to the property "default".
func (w *world) post(ctx context.Context, ids ...int64) {
	GinkgoHelper()
	var muts []library.Mutation
	for _, id := range ids {
		muts = append(muts, library.Mutation{Put: &item.Item{
			ID: id, ApprovalStatus: item.Approved, CreatedOn: "2026-01-01T00:00:00Z", ShortCode: fmt.Sprintf("%s-%d", w.namespace, id),
			Content: item.Content{ContentType: item.Image, OriginalURL: fmt.Sprintf("https://posts.example/%d", id)},
		}})
	}
	outcomes, err := w.lib.Write(ctx, w.id("default"), muts)
	Expect(err).NotTo(HaveOccurred())
	for _, o := range outcomes {
		Expect(o.Err).NotTo(HaveOccurred())
	}
}

// matching returns the number of items in the property "default" that a query matches.
func (w *world) matching(ctx context.Context, q string) int64 {
	GinkgoHelper()
	parsed, err := query.Parse(q)
	Expect(err).NotTo(HaveOccurred())
	page, err := w.lib.Read(ctx, library.Read{Property: w.id("default"), Audience: query.Private, Query: parsed.Root})
	Expect(err).NotTo(HaveOccurred())
	return page.Total
}

// accepted returns the tokens that a server would accept now, keyed by the names of their AccessTokens.
func (w *world) accepted() map[string]library.Token {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tokens := map[string]library.Token{}
	for event, err := range w.lib.Tokens(ctx) {
		Expect(err).NotTo(HaveOccurred())
		if event.Synced {
			break
		}
		if event.Token != nil {
			tokens[event.Owner.Name] = *event.Token
		}
	}
	return tokens
}

// clock is a clock that the test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// logs records the operator's log.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) add(prefix, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(&l.text, prefix, line)
	GinkgoWriter.Println(prefix, line)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// rounds returns the number of reconciles of a kind that have ended, in all operators of this process.
func rounds(kind string) float64 {
	GinkgoHelper()
	families, err := ctrlmetrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	var n float64
	for _, f := range families {
		if f.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "controller" && l.GetValue() == strings.ToLower(kind) {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}
