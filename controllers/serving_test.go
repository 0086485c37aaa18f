package controllers_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// newEngineWorld creates a world whose library is the engine, with its data in the directory dir.
func newEngineWorld(ctx context.Context, dir string, namespace metav1.ObjectMeta) *world {
	w := newEmptyWorld(ctx, namespace)
	w.openEngine(dir)
	return w
}

func (w *world) openEngine(dir string) {
	GinkgoHelper()
	lib, err := engine.Open(engine.Options{Dir: dir, Clock: w.clock.Now})
	Expect(err).NotTo(HaveOccurred())
	w.lib = lib
}

// served returns the error of a read of the items of a Property.
func (w *world) served(ctx context.Context, name string) error {
	_, err := w.lib.Read(ctx, library.Read{Property: w.id(name), Query: query.All{}, Limit: 1})
	return err
}

var _ = Describe("A Property that the library cannot serve", func() {
	var w *world
	var dir, index string
	BeforeEach(func(ctx context.Context) {
		dir = GinkgoT().TempDir()
		w = newEngineWorld(ctx, dir, metav1.ObjectMeta{GenerateName: "spec-"})
		index = filepath.Join(dir, "index", hex.EncodeToString([]byte(w.id("broken"))))
	})
	start := func() { w.start(func(o *cluster.Options) { o.PropertyGrace = 30 * time.Second }) }

	// obstruct puts a file where the library needs the directory of the index.
	obstruct := func() {
		GinkgoHelper()
		Expect(os.RemoveAll(index)).To(Succeed())
		Expect(os.MkdirAll(filepath.Dir(index), 0o700)).To(Succeed())
		Expect(os.WriteFile(index, nil, 0o600)).To(Succeed())
	}
	// alone checks that a Property reports that it is not served, while the library has no problem otherwise.
	alone := func(ctx context.Context, p client.Object, phase kstatus.Status) {
		GinkgoHelper()
		ready := w.settle(ctx, p, phase)
		Expect(ready).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonNotServed),
			HaveField("Message", And(ContainSubstring("get 503"), ContainSubstring("the index cannot be opened"), ContainSubstring("correct the cause")))))
		Expect(w.served(ctx, p.GetName())).To(MatchError(library.ErrUnavailable))
		Expect(w.lib.State(ctx)).To(And(HaveField("Ready", true), HaveField("Problem", ""), HaveField("Troubles", HaveLen(1))))
	}

	It("is never Ready, until the library serves it", func(ctx context.Context) {
		start()
		w.apply(ctx, w.property("default"))
		obstruct()
		p := w.property("broken")
		Expect(kube.Create(ctx, p)).To(Succeed())
		alone(ctx, p, kstatus.InProgressStatus)
		Expect(w.condition(ctx, p, v1alpha1.ReconcilingCondition)).To(HaveField("Status", metav1.ConditionTrue))

		w.change(ctx, p, func() { p.Spec.DisplayName = "Another name" })
		alone(ctx, p, kstatus.InProgressStatus)

		version := p.GetResourceVersion()
		w.change(ctx, p, func() { p.Spec.Suspend = true })
		Eventually(func() any { return w.condition(ctx, p, v1alpha1.SuspendedCondition) }).ShouldNot(BeNil())
		Expect(w.condition(ctx, p, v1alpha1.ReadyCondition)).To(And(
			HaveField("Reason", v1alpha1.ReasonNotServed), HaveField("ObservedGeneration", BeEquivalentTo(2))))
		Expect(p.GetResourceVersion()).NotTo(Equal(version))

		Expect(os.Remove(index)).To(Succeed())
		Eventually(w.served).WithArguments(ctx, "broken").Should(Succeed())
		Eventually(func() metav1.Condition { return *w.condition(ctx, p, v1alpha1.ReadyCondition) }).Should(And(
			HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonSuspended), HaveField("ObservedGeneration", BeEquivalentTo(2))))
		w.change(ctx, p, func() { p.Spec.Suspend = false })
		Expect(w.settle(ctx, p, kstatus.CurrentStatus).Reason).To(Equal(v1alpha1.ReasonServed))
	})

	It("loses Ready 30 seconds after a restart that cannot open the index, and regains it at once", func(ctx context.Context) {
		start()
		w.apply(ctx, w.property("default"))
		p := w.property("broken")
		w.apply(ctx, p)
		w.stop()
		Expect(w.lib.Close()).To(Succeed())
		obstruct()
		w.openEngine(dir)
		start()
		w.change(ctx, p, func() { p.Spec.DisplayName = "Another name" })
		Expect(w.settle(ctx, p, kstatus.CurrentStatus).Reason).To(Equal(v1alpha1.ReasonServed))
		Expect(w.served(ctx, "broken")).To(MatchError(library.ErrUnavailable))
		w.clock.advance(30 * time.Second)
		Eventually(func() *metav1.Condition { return w.condition(ctx, p, v1alpha1.ReadyCondition) }).Should(HaveField("Reason", v1alpha1.ReasonNotServed))
		alone(ctx, p, kstatus.InProgressStatus)

		Expect(os.Remove(index)).To(Succeed())
		Eventually(func() *metav1.Condition { return w.condition(ctx, p, v1alpha1.ReadyCondition) }).Should(HaveField("Status", metav1.ConditionTrue))
		Expect(w.settle(ctx, p, kstatus.CurrentStatus).Reason).To(Equal(v1alpha1.ReasonServed))
		Expect(w.served(ctx, "broken")).To(Succeed())
	})
})

// refusing is a library that cannot store the definitions of one property.
type refusing struct {
	library.Library
	property library.PropertyID
}

func (l refusing) Apply(ctx context.Context, defs []library.Definition) ([]library.Result, error) {
	if slices.ContainsFunc(defs, func(d library.Definition) bool { return d.Property == l.property }) {
		return nil, fmt.Errorf("%w: cannot create the index of property %s", library.ErrUnavailable, l.property)
	}
	return l.Library.Apply(ctx, defs)
}

var _ = Describe("A Property whose definitions the library cannot store", func() {
	It("is not Ready, and does not delay the load of the other Properties", func(ctx context.Context) {
		w := newWorld(ctx)
		p, f := w.property("broken"), w.filter("f", "approval_status:app")
		for _, o := range []client.Object{p, w.property("default"), f} {
			Expect(kube.Create(ctx, o)).To(Succeed())
		}
		w.start(func(o *cluster.Options) { o.Library = refusing{w.lib, w.id("broken")} })
		w.settle(ctx, f, kstatus.CurrentStatus)
		Expect(w.settle(ctx, p, kstatus.InProgressStatus)).To(And(
			HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", v1alpha1.ReasonRetrying), HaveField("Message", ContainSubstring("cannot create the index"))))
		w.start()
		w.settle(ctx, p, kstatus.CurrentStatus)
	})
})

// limitNames are valid names at the limits of the API server.
var limitNames = []string{
	"0", "0.1.2", "9-x", strings.Repeat("n", 62), strings.Repeat("n", 63), strings.Repeat("0", 64), strings.Repeat("n", 126),
	strings.Repeat("n", 253), strings.Repeat("n.", 126) + "m",
}

var _ = Describe("Names at their limits", func() {
	It("are served for every kind", func(ctx context.Context) {
		for _, namespace := range []string{"0", strings.Repeat("n", 63)} {
			w := newEngineWorld(ctx, GinkgoT().TempDir(), metav1.ObjectMeta{Name: namespace})
			w.start()
			longest := limitNames[len(limitNames)-1]
			for _, name := range limitNames {
				p := w.property(name)
				w.apply(ctx, p)
				Expect(w.served(ctx, name)).To(Succeed(), name)
			}
			var all []client.Object
			for i, name := range limitNames {
				t, f, g, u := w.token(name), w.filter(name, "approval_status:app"), w.tag(name, strings.Repeat("k", i+1), 1), w.unit(name)
				for _, ref := range []**v1alpha1.PropertyReference{&t.Spec.PropertyRef, &f.Spec.PropertyRef, &g.Spec.PropertyRef, &u.Spec.PropertyRef} {
					*ref = &v1alpha1.PropertyReference{Name: longest}
				}
				t.Spec.Filters = []string{name}
				all = append(all, t, f, g, u)
			}
			for _, o := range all {
				Expect(kube.Create(ctx, o)).To(Succeed())
			}
			for _, o := range all {
				w.settle(ctx, o, kstatus.CurrentStatus)
				Eventually(func() (string, error) {
					var list eventsv1.EventList
					err := kube.List(ctx, &list, client.InNamespace(w.namespace))
					for _, e := range list.Items {
						if e.Regarding.UID == o.GetUID() {
							return e.Reason, err
						}
					}
					return "", err
				}).Should(Equal(v1alpha1.ReasonServed), "the event of %T %s", o, o.GetName())
			}
			Expect(w.accepted()).To(HaveLen(len(limitNames)))
			filters, _, err := w.lib.Filters(w.id(longest), 0, 0)
			Expect(err).NotTo(HaveOccurred())
			Expect(filters).To(HaveLen(len(limitNames)))
		}
	})
})
