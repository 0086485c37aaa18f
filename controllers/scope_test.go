package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/server/library"
)

var _ = Describe("The scope of an AccessToken", func() {
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.start()
	})
	// shows waits until the status of a token shows a scope. It checks that the token has the condition Unrestricted only if warned is true,
	// and that it stays Ready.
	shows := func(ctx context.Context, t *v1alpha1.AccessToken, scope v1alpha1.TokenScope, warned bool) {
		GinkgoHelper()
		Eventually(func() v1alpha1.TokenScope {
			w.settle(ctx, t, kstatus.CurrentStatus)
			return t.Status.Scope
		}).Should(Equal(scope), "AccessToken %s", t.Name)
		c := w.condition(ctx, t, v1alpha1.UnrestrictedCondition)
		if !warned {
			Expect(c).To(BeNil())
			return
		}
		Expect(c).To(And(HaveField("Status", BeEquivalentTo("True")), HaveField("Reason", v1alpha1.ReasonAllItems),
			HaveField("Message", And(ContainSubstring("pending or rejected"), ContainSubstring(`spec.readOnlyQuery of the Property "default"`)))))
	}

	It("is in the status, with a warning for READ-ONLY tokens without limits, and follows the token and the Property", func(ctx context.Context) {
		property := w.property("default")
		w.apply(ctx, property)
		open, own, display, writer := w.token("open"), w.token("own"), w.token("display"), w.token("writer")
		own.Spec.Query = "campaign:12"
		display.Spec.Filters = []string{"wall"}
		writer.Spec.Class = v1alpha1.ReadWrite
		for _, t := range []*v1alpha1.AccessToken{open, own, display, writer} {
			w.apply(ctx, t)
		}
		shows(ctx, open, v1alpha1.ScopeAllItems, true)
		shows(ctx, own, v1alpha1.ScopeQuery, false)
		shows(ctx, display, v1alpha1.ScopeFilters, false)
		shows(ctx, writer, v1alpha1.ScopeAllItems, false)
		Expect(w.condition(ctx, own, v1alpha1.QueryValidCondition)).To(HaveField("Reason", v1alpha1.ReasonValid))

		frozen := w.token("frozen")
		w.apply(ctx, frozen)
		w.change(ctx, frozen, func() { frozen.Spec.Suspend = true })
		w.change(ctx, property, func() { property.Spec.ReadOnlyQuery = "approval_status:app" })
		shows(ctx, open, v1alpha1.ScopeProperty, false)
		shows(ctx, frozen, v1alpha1.ScopeProperty, false)
		shows(ctx, own, v1alpha1.ScopeQuery, false)
		shows(ctx, display, v1alpha1.ScopeFilters, false)
		shows(ctx, writer, v1alpha1.ScopeAllItems, false)

		w.change(ctx, property, func() { property.Spec.ReadOnlyQuery = "approval_status:(app" })
		w.settle(ctx, property, kstatus.FailedStatus)
		shows(ctx, open, v1alpha1.ScopeProperty, false) // the server keeps serving the last valid version
		w.change(ctx, property, func() { property.Spec.ReadOnlyQuery = "" })
		shows(ctx, open, v1alpha1.ScopeAllItems, true)
		shows(ctx, frozen, v1alpha1.ScopeAllItems, true)
		Eventually(func() ([]string, error) { return w.about(ctx, "ScopeRemoved") }).Should(ConsistOf("open", "frozen"))
		w.change(ctx, open, func() { open.Spec.Query = "approval_status:app" })
		shows(ctx, open, v1alpha1.ScopeQuery, false)
		w.change(ctx, own, func() { own.Spec.Query = "campaign:13" })
		w.change(ctx, display, func() { display.Spec.Filters = nil })
		shows(ctx, own, v1alpha1.ScopeQuery, false)
		shows(ctx, display, v1alpha1.ScopeAllItems, true)
		Eventually(func() ([]string, error) { return w.about(ctx, "ScopeRemoved") }).Should(ConsistOf("open", "frozen", "display"))
	})

	It("comes with a warning about subjects that have no effect, because the server has no identity provider", func(ctx context.Context) {
		w.apply(ctx, w.property("default"))
		people := []v1alpha1.Subject{{Group: "brand-moderators"}}
		role, frozen, plain := w.token("role"), w.token("frozen"), w.token("plain")
		for _, t := range []*v1alpha1.AccessToken{role, frozen, plain} {
			t.Spec.Class = v1alpha1.ReadWrite
			if t != plain {
				t.Spec.Subjects = people
			}
			w.apply(ctx, t)
		}
		warned := func(want bool, tokens ...*v1alpha1.AccessToken) {
			GinkgoHelper()
			for _, t := range tokens {
				Eventually(func() bool {
					Expect(w.settle(ctx, t, kstatus.CurrentStatus)).To(HaveField("Status", BeEquivalentTo("True")))
					return w.condition(ctx, t, v1alpha1.SubjectsUnusedCondition) != nil
				}).Should(Equal(want), "AccessToken %s", t.Name)
				if want {
					Expect(w.condition(ctx, t, v1alpha1.SubjectsUnusedCondition)).To(And(HaveField("Status", BeEquivalentTo("True")),
						HaveField("Reason", v1alpha1.ReasonNoIdentityProvider), HaveField("Message", ContainSubstring("--console-oidc-issuer-url"))))
				}
			}
		}
		warned(true, role, frozen)
		warned(false, plain)
		w.change(ctx, frozen, func() { frozen.Spec.Suspend = true })
		w.change(ctx, role, func() { role.Spec.Subjects = nil })
		warned(false, role)
		w.change(ctx, role, func() { role.Spec.Subjects = people })
		warned(true, role)

		w.start(func(o *cluster.Options) { o.Login = true })
		warned(false, role, frozen, plain)
		w.start()
		warned(true, role, frozen)
		warned(false, plain)
	})

	It("and the allowed actions are served within a second after a change", func(ctx context.Context) {
		property := w.property("default")
		w.apply(ctx, property)
		t := w.token("writer")
		t.Spec.Class = v1alpha1.ReadWrite
		w.apply(ctx, t)
		Expect(w.accepted()["writer"]).To(And(HaveField("Query", ""), HaveField("Allow", BeNil())))
		value := string(w.own(ctx, "writer").Data["token"])

		w.change(ctx, t, func() {
			t.Spec.Query, t.Spec.Allow = "approval_status:pen", []v1alpha1.TokenAction{"Moderate", "Tag"}
		})
		Eventually(func() library.Token { return w.accepted()["writer"] }, "1s").Should(And(
			HaveField("Query", "approval_status:pen"), HaveField("Allow", []library.Action{library.Moderate, library.TagItems})))
		w.change(ctx, t, func() { t.Spec.Allow = []v1alpha1.TokenAction{"Tag"} })
		Eventually(func() []library.Action { return w.accepted()["writer"].Allow }, "1s").Should(Equal([]library.Action{library.TagItems}))
		w.change(ctx, property, func() { property.Spec.ReadOnlyQuery = "approval_status:app" })
		Eventually(func() (string, error) {
			p, err := w.lib.Property(w.id("default"))
			return p.ReadOnlyQuery, err
		}, "1s").Should(Equal("approval_status:app"))
		w.settle(ctx, t, kstatus.CurrentStatus)
		Expect(w.accepts(value)).To(BeTrue(), "the value stays the same")
		Expect(string(w.own(ctx, "writer").Data["token"])).To(Equal(value))
	})

	It("stalls the token if its query is invalid: the last valid version stays served, and a new token is not served", func(ctx context.Context) {
		w.apply(ctx, w.property("default"))
		t := w.token("storefront")
		t.Spec.Query = "approval_status:app"
		w.apply(ctx, t)
		w.change(ctx, t, func() { t.Spec.Query = "approval_status:(rej" })
		fresh := w.token("fresh")
		fresh.Spec.Query = "approval_status:(rej"
		Expect(kube.Create(ctx, fresh)).To(Succeed())
		for _, o := range []*v1alpha1.AccessToken{t, fresh} {
			Expect(w.settle(ctx, o, kstatus.FailedStatus)).To(And(HaveField("Reason", v1alpha1.ReasonInvalidQuery),
				HaveField("Message", HavePrefix("spec.query: unbalanced parenthesis (opened at position 16)"))))
			Expect(w.condition(ctx, o, v1alpha1.QueryValidCondition)).To(HaveField("Status", BeEquivalentTo("False")))
		}
		Expect(w.accepted()).To(And(HaveKeyWithValue("storefront", HaveField("Query", "approval_status:app")), Not(HaveKey("fresh"))))
		w.stop()
		w.start() // the load at start does not serve them either
		Expect(w.accepted()).To(And(HaveKeyWithValue("storefront", HaveField("Query", "approval_status:app")), Not(HaveKey("fresh"))))
	})

	It("lets no token of a new Property be served while spec.readOnlyQuery is invalid", func(ctx context.Context) {
		property, t := w.property("default"), w.token("storefront")
		property.Spec.ReadOnlyQuery = "approval_status:(app"
		Expect(kube.Create(ctx, property)).To(Succeed())
		Expect(w.settle(ctx, property, kstatus.FailedStatus)).To(HaveField("Message", HavePrefix("spec.readOnlyQuery: unbalanced parenthesis")))
		Expect(kube.Create(ctx, t)).To(Succeed())
		w.settle(ctx, t, kstatus.InProgressStatus)
		Expect(w.accepted()).To(BeEmpty())
		w.change(ctx, property, func() { property.Spec.ReadOnlyQuery = "approval_status:app" })
		shows(ctx, t, v1alpha1.ScopeProperty, false)
	})
})
