package controllers_test

import (
	"context"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// subject is one of the six kinds, for the specs that apply to all of them.
type subject struct {
	kind string
	// new returns an object for which the library serves the value before. After change has modified the object, the library serves the value
	// after.
	new           func(w *world, name string) client.Object
	change        func(o client.Object)
	before, after string
	// served returns the value that the library serves for the object, or "" if it serves none.
	served func(ctx context.Context, w *world, name string) string
	// suspend sets spec.suspend.
	suspend func(o client.Object, suspend bool)
	// spoil makes a spec unusable in a way that the schema accepts. An object with such a spec reports the reason in the member reason. spoil
	// is nil if the schema rejects every invalid spec of the kind.
	spoil  func(o client.Object)
	reason string
	// rest waits until nothing but a change of the object changes its status. rest is nil if this is so as soon as the object is applied.
	rest func(ctx context.Context, w *world, o client.Object)
}

// apply applies an object of the kind, and returns when nothing changes its status any longer.
func (s subject) apply(ctx context.Context, w *world, name string) client.Object {
	GinkgoHelper()
	o := s.new(w, name)
	w.apply(ctx, o)
	if s.rest != nil {
		s.rest(ctx, w, o)
	}
	return o
}

var subjects = []subject{
	{
		kind: v1alpha1.PropertyKind,
		new:  func(w *world, name string) client.Object { return w.property(name) },
		change: func(o client.Object) {
			o.(*v1alpha1.Property).Spec.RateLimit = &v1alpha1.RateLimit{RequestsPerSecond: 50, Burst: 100}
		},
		before: "0", after: "100",
		served: func(_ context.Context, w *world, name string) string {
			p, err := w.lib.Property(w.id(name))
			if err != nil {
				return ""
			}
			return strconv.Itoa(p.Burst)
		},
		suspend: func(o client.Object, s bool) { o.(*v1alpha1.Property).Spec.Suspend = s },
		spoil:   func(o client.Object) { o.(*v1alpha1.Property).Spec.ReadOnlyQuery = "approval_status:(app" },
		reason:  v1alpha1.ReasonInvalidQuery,
	},
	{
		kind:   v1alpha1.AccessTokenKind,
		new:    func(w *world, name string) client.Object { return w.token(name) },
		change: func(o client.Object) { o.(*v1alpha1.AccessToken).Spec.Class = v1alpha1.ReadWrite },
		before: "read-only", after: "read-write",
		served: func(_ context.Context, w *world, name string) string {
			t, ok := w.accepted()[name]
			switch {
			case !ok:
				return ""
			case t.ReadWrite:
				return "read-write"
			}
			return "read-only"
		},
		suspend: func(o client.Object, s bool) { o.(*v1alpha1.AccessToken).Spec.Suspend = s },
		spoil: func(o client.Object) {
			s := &o.(*v1alpha1.AccessToken).Spec
			s.SecretName, s.ExistingSecret = "", &v1alpha1.SecretKeyReference{Name: "short", Key: "token"}
		},
		reason: v1alpha1.ReasonSecretInvalid,
	},
	{
		kind:   v1alpha1.ContentFilterKind,
		new:    func(w *world, name string) client.Object { return w.filter(name, "approval_status:app") },
		change: func(o client.Object) { o.(*v1alpha1.ContentFilter).Spec.Query = "approval_status:rej" },
		before: "approval_status:app", after: "approval_status:rej",
		served: func(_ context.Context, w *world, name string) string {
			uuid, _ := library.FilterIDs(w.id("default"), library.KindFilter, w.namespace, name)
			f, err := w.lib.Filter(w.id("default"), library.FilterRef{UUID: uuid})
			if err != nil {
				return ""
			}
			return f.Query
		},
		suspend: func(o client.Object, s bool) { o.(*v1alpha1.ContentFilter).Spec.Suspend = s },
		spoil:   func(o client.Object) { o.(*v1alpha1.ContentFilter).Spec.Query = "approval_status:(app" },
		reason:  v1alpha1.ReasonInvalidQuery,
	},
	{
		kind: v1alpha1.TagKind,
		new: func(w *world, name string) client.Object {
			return w.tag(name, name, 1)
		},
		change: func(o client.Object) { o.(*v1alpha1.Tag).Spec.Items = []int64{2, 3} },
		before: "1", after: "2",
		served: func(ctx context.Context, w *world, name string) string {
			n := 0
			for id := range item.ID(4) {
				tags, err := w.lib.ItemTags(ctx, w.id("default"), id)
				for _, t := range tags {
					if err == nil && t == (item.Tag{Namespace: "marketer_tags", Key: name}) {
						n++
					}
				}
			}
			if n == 0 {
				return ""
			}
			return strconv.Itoa(n)
		},
		suspend: func(o client.Object, s bool) { o.(*v1alpha1.Tag).Spec.Suspend = s },
		spoil: func(o client.Object) {
			o.(*v1alpha1.Tag).Spec.Selector = &v1alpha1.Selector{Query: "tags.marketer_tags.key:round"}
		},
		reason: v1alpha1.ReasonInvalidQuery,
	},
	{
		kind:   v1alpha1.ActivateUnitKind,
		new:    func(w *world, name string) client.Object { return w.unit(name) },
		change: func(o client.Object) { o.(*v1alpha1.ActivateUnit).Spec.Name = "Boots" },
		before: "Sandals", after: "Boots",
		served: func(_ context.Context, w *world, name string) string {
			u, err := w.lib.Unit(w.id("default"), library.UnitID(w.id("default"), w.namespace, name))
			if err != nil {
				return ""
			}
			return u.Name
		},
		suspend: func(o client.Object, s bool) { o.(*v1alpha1.ActivateUnit).Spec.Suspend = s },
		spoil: func(o client.Object) {
			o.(*v1alpha1.ActivateUnit).Spec.Selector = &v1alpha1.Selector{Query: "text:["}
		},
		reason: v1alpha1.ReasonInvalidQuery,
	},
	{
		kind:   v1alpha1.WebhookKind,
		new:    func(w *world, name string) client.Object { return w.webhook(name, "https://127.0.0.1:1/") },
		change: func(o client.Object) { o.(*v1alpha1.Webhook).Spec.Query = "approval_status:rej" },
		before: "approval_status:pen", after: "approval_status:rej",
		served: func(ctx context.Context, w *world, name string) string {
			install, err := w.lib.Mark("install")
			Expect(err).NotTo(HaveOccurred())
			d, err := w.lib.Definition(ctx, library.Owner{Install: install, Kind: library.KindWebhook, Namespace: w.namespace, Name: name})
			if err != nil {
				return ""
			}
			return d.Webhook.Query
		},
		suspend: func(o client.Object, s bool) { o.(*v1alpha1.Webhook).Spec.Suspend = s },
		spoil:   func(o client.Object) { o.(*v1alpha1.Webhook).Spec.Query = "submission.email:*" },
		reason:  v1alpha1.ReasonInvalidQuery,
		rest: func(ctx context.Context, w *world, o client.Object) {
			Eventually(func() any { return w.condition(ctx, o, v1alpha1.DeliveringCondition) }).Should(
				HaveField("Reason", v1alpha1.ReasonAddressRefused), "the first delivery")
		},
	},
}

var _ = Describe("Every kind", func() {
	for _, s := range subjects {
		Context(s.kind, func() {
			var w *world
			BeforeEach(func(ctx context.Context) {
				w = newServedWorld(ctx)
				Expect(kube.Create(ctx, w.secret("short", "too-short"))).To(Succeed())
			})
			serves := func(ctx context.Context, name, want string) {
				GinkgoHelper()
				Eventually(func() string { return s.served(ctx, w, name) }).Should(Equal(want), "what is served of %s", name)
			}

			It("is served when applied, follows an update, and is removed when deleted", func(ctx context.Context) {
				o := s.apply(ctx, w, "summer")
				serves(ctx, "summer", s.before)
				Expect(w.condition(ctx, o, v1alpha1.ReadyCondition)).To(HaveField("Reason", v1alpha1.ReasonServed))

				w.change(ctx, o, func() { s.change(o) })
				serves(ctx, "summer", s.after)
				w.settle(ctx, o, kstatus.CurrentStatus)

				w.remove(ctx, o)
				serves(ctx, "summer", "")
			})

			if s.spoil != nil {
				It("stalls if its spec cannot be used, and the last valid version stays served", func(ctx context.Context) {
					o, other := s.apply(ctx, w, "summer"), s.apply(ctx, w, "winter")
					undisturbed := other.GetResourceVersion()

					good := o.DeepCopyObject().(client.Object)
					w.change(ctx, o, func() { s.spoil(o) })
					ready := w.settle(ctx, o, kstatus.FailedStatus)
					Expect(ready.Reason).To(Equal(s.reason))
					rejected := func(property string) []library.Rejection {
						all, known, err := w.supervisor.Rejected(ctx, w.id(property))
						Expect(err).NotTo(HaveOccurred())
						Expect(known).To(BeTrue())
						return all
					}
					Eventually(rejected).WithArguments(o.(v1alpha1.Object).PropertyName()).Should(ConsistOf(library.Rejection{
						Kind: s.kind, Namespace: w.namespace, Name: "summer", Reason: s.reason, Message: ready.Message,
					}), "the status of the property has to show it")
					Expect(rejected("other")).To(BeEmpty())
					Expect(s.served(ctx, w, "summer")).To(Equal(s.before))
					Expect(w.condition(ctx, other, v1alpha1.ReadyCondition)).To(HaveField("Status", BeEquivalentTo("True")))
					Expect(other.GetResourceVersion()).To(Equal(undisturbed))

					good.SetResourceVersion(o.GetResourceVersion())
					s.change(good)
					Expect(kube.Update(ctx, good)).To(Succeed())
					w.settle(ctx, good, kstatus.CurrentStatus)
					serves(ctx, "summer", s.after)
				})
			}

			It("is frozen while suspended, and is removed when deleted", func(ctx context.Context) {
				o := s.apply(ctx, w, "summer")
				w.change(ctx, o, func() { s.change(o); s.suspend(o, true) })
				w.settle(ctx, o, kstatus.CurrentStatus)
				Expect(w.condition(ctx, o, v1alpha1.SuspendedCondition)).To(HaveField("Reason", v1alpha1.ReasonSuspended))
				Expect(s.served(ctx, w, "summer")).To(Equal(s.before))
				servedGeneration := func() {
					GinkgoHelper()
					Expect(w.condition(ctx, o, v1alpha1.ReadyCondition)).To(And(
						HaveField("Reason", v1alpha1.ReasonSuspended), HaveField("ObservedGeneration", BeEquivalentTo(1)),
						HaveField("Message", "Generation 1 is served while spec.suspend is true."),
					))
					if c := w.condition(ctx, o, v1alpha1.QueryValidCondition); c != nil {
						Expect(c).To(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", v1alpha1.ReasonSuspended)))
					}
				}
				servedGeneration()
				foreign := `{"status":{"observedGeneration":999,"conditions":[{"type":"Ready","status":"False","reason":"Foreign","message":"Not ready.","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
				Expect(kube.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(foreign)))).To(Succeed())
				w.settle(ctx, o, kstatus.CurrentStatus)
				Eventually(func() any { return w.condition(ctx, o, v1alpha1.SuspendedCondition) }).ShouldNot(BeNil())
				servedGeneration()
				if s.spoil != nil {
					good := o.DeepCopyObject().(client.Object)
					w.change(ctx, o, func() { s.spoil(o) })
					w.settle(ctx, o, kstatus.CurrentStatus)
					servedGeneration()
					Expect(kube.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
					good.SetResourceVersion(o.GetResourceVersion())
					Expect(kube.Update(ctx, good)).To(Succeed())
				}

				w.change(ctx, o, func() { s.suspend(o, false) })
				serves(ctx, "summer", s.after)
				w.settle(ctx, o, kstatus.CurrentStatus)
				Expect(w.condition(ctx, o, v1alpha1.SuspendedCondition)).To(BeNil())
				Expect(w.condition(ctx, o, v1alpha1.ReadyCondition)).To(HaveField("Reason", v1alpha1.ReasonServed))

				w.change(ctx, o, func() { s.suspend(o, true) })
				Eventually(func() any { return w.condition(ctx, o, v1alpha1.SuspendedCondition) }).ShouldNot(BeNil())
				w.remove(ctx, o)
				serves(ctx, "summer", "")
			})

			It("stays served and suspended after a restart", func(ctx context.Context) {
				o := s.apply(ctx, w, "summer")
				w.stop()
				w.change(ctx, o, func() { s.change(o); s.suspend(o, true) })
				w.start()
				Eventually(func() any { return w.condition(ctx, o, v1alpha1.SuspendedCondition) }).ShouldNot(BeNil())
				Expect(s.served(ctx, w, "summer")).To(Equal(s.before))
			})

			It("catches up with what happened while the operator was down", func(ctx context.Context) {
				changed, gone, fresh := s.apply(ctx, w, "summer"), s.apply(ctx, w, "winter"), s.new(w, "spring")
				w.stop()

				w.change(ctx, changed, func() { s.change(changed) })
				w.remove(ctx, gone)
				Expect(kube.Create(ctx, fresh)).To(Succeed())
				Expect(s.served(ctx, w, "summer")).To(Equal(s.before))
				Expect(s.served(ctx, w, "winter")).To(Equal(s.before))

				w.start()
				serves(ctx, "summer", s.after)
				serves(ctx, "winter", "")
				serves(ctx, "spring", s.before)
				w.settle(ctx, changed, kstatus.CurrentStatus)
				w.settle(ctx, fresh, kstatus.CurrentStatus)
			})

			It("stays served while the API server cannot be reached, and catches up", func(ctx context.Context) {
				o, gone := s.apply(ctx, w, "summer"), s.apply(ctx, w, "winter")
				w.network.cut()
				w.change(ctx, o, func() { s.change(o) })
				w.remove(ctx, gone)
				Expect(s.served(ctx, w, "summer")).To(Equal(s.before))
				Expect(s.served(ctx, w, "winter")).To(Equal(s.before))

				w.network.restore()
				serves(ctx, "summer", s.after)
				serves(ctx, "winter", "")
				w.settle(ctx, o, kstatus.CurrentStatus)
			})

			It("gets its status back when another writer changes the status", func(ctx context.Context) {
				o, other := s.apply(ctx, w, "summer"), s.apply(ctx, w, "winter")
				undisturbed := other.GetResourceVersion()
				for _, patch := range []string{
					`{"status":{"observedGeneration":999}}`,
					`{"status":{"observedGeneration":999,"conditions":[{"type":"Ready","status":"False","reason":"Foreign","message":"Not ready.","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
					`{"status":null}`,
				} {
					Expect(kube.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
					Expect(w.settle(ctx, o, kstatus.CurrentStatus)).To(HaveField("Reason", v1alpha1.ReasonServed), patch)
				}
				Expect(kube.Get(ctx, client.ObjectKeyFromObject(other), other)).To(Succeed())
				Expect(other.GetResourceVersion()).To(Equal(undisturbed))
			})

			It("writes nothing to the API server when reconciled again", func(ctx context.Context) {
				s.apply(ctx, w, "summer")
				// Wait until the count is written, which the limiter may delay.
				Eventually(func() *int64 {
					p := &v1alpha1.Property{}
					Expect(kube.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "default"}, p)).To(Succeed())
					return p.Status.Items
				}).Should(HaveValue(Equal(w.lib.State(ctx).PropertyItems[library.PropertyID(w.namespace+"/default")])))
				w.stop()
				w.network = newNetwork()                              // events of the previous operator may still arrive over the old network
				kinds := map[string]float64{v1alpha1.PropertyKind: 1} // the Property "default"
				kinds[s.kind]++
				before := map[string]float64{}
				for kind := range kinds {
					before[kind] = rounds(kind)
				}
				w.start()
				for kind, n := range kinds {
					Eventually(func() float64 { return rounds(kind) }).Should(BeNumerically(">=", before[kind]+n), "rounds of %s", kind)
				}
				w.stop()
				Expect(w.network.written()).To(BeEmpty())
			})
		})
	}
})
