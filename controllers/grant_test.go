package controllers_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/server/library"
)

var _ = Describe("A grant of a Property", func() {
	var (
		w        *world
		guests   string // the other namespace
		property *v1alpha1.Property
	)
	start := func() { w.start(func(o *cluster.Options) { o.Namespaces = append(o.Namespaces, guests) }) }
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "guests-"}}
		Expect(kube.Create(ctx, ns)).To(Succeed())
		guests = ns.Name
		start()
		property = w.property("default")
		property.Spec.ReadOnlyQuery = "approval_status:app"
		w.apply(ctx, property)
		w.post(ctx, 1, 2, 3)
		DeferCleanup(func(ctx context.Context) {
			for _, o := range []client.Object{&v1alpha1.AccessToken{}, &v1alpha1.ContentFilter{}, &v1alpha1.Tag{}, &v1alpha1.Property{}} {
				Expect(kube.DeleteAllOf(ctx, o, client.InNamespace(guests))).To(Succeed())
			}
		})
	})
	grant := func(ctx context.Context, grants ...v1alpha1.PropertyGrant) {
		GinkgoHelper()
		w.change(ctx, property, func() { property.Spec.AllowFrom = grants })
	}
	to := func(kinds ...string) v1alpha1.PropertyGrant {
		return v1alpha1.PropertyGrant{Namespaces: v1alpha1.GrantedNamespaces{Names: []string{guests}}, Kinds: kinds}
	}
	there := func() *v1alpha1.PropertyReference {
		return &v1alpha1.PropertyReference{Namespace: w.namespace, Name: "default"}
	}
	token := func(name string) *v1alpha1.AccessToken {
		t := w.token(name)
		t.Namespace, t.Spec.PropertyRef = guests, there()
		return t
	}
	served := func() (names []string) {
		for name := range w.accepted() {
			names = append(names, name)
		}
		return names
	}

	It("is needed: without it, the object waits with the message of a missing Property, and holds no claim", func(ctx context.Context) {
		t, lost, tag := token("display"), token("lost"), w.tag("hero", "hero", 1)
		lost.Spec.PropertyRef.Name = "missing"
		tag.Namespace, tag.Spec.PropertyRef = guests, there()
		for _, o := range []client.Object{t, lost, tag} {
			Expect(kube.Create(ctx, o)).To(Succeed())
		}
		refused := w.settle(ctx, t, kstatus.InProgressStatus)
		Expect(refused.Reason).To(Equal(v1alpha1.ReasonPropertyNotFound))
		missing := w.settle(ctx, lost, kstatus.InProgressStatus)
		Expect(refused.Message).To(Equal(strings.Replace(missing.Message, `"missing"`, `"default"`, 1)))
		w.settle(ctx, tag, kstatus.InProgressStatus)
		Expect(served()).To(BeEmpty())
		own := w.tag("hero", "hero", 2)
		w.apply(ctx, own)
		Expect(w.matching(ctx, "tags.marketer_tags.key:hero")).To(BeEquivalentTo(1))
		w.change(ctx, t, func() { t.Spec.Suspend = true })
		Eventually(func() *metav1.Condition { return w.condition(ctx, t, v1alpha1.SuspendedCondition) }).ShouldNot(BeNil())
		Expect(t.Status.Scope).To(BeEmpty(), "the scope of a suspended token does not tell that the Property exists")
		var secrets corev1.SecretList
		Expect(kube.List(ctx, &secrets, client.InNamespace(guests))).To(Succeed())
		Expect(secrets.Items).To(BeEmpty(), "no Secret tells that the Property exists")
	})

	It("serves the kinds, classes and filters that it lists, and its removal ends that within a second", func(ctx context.Context) {
		reader, writer := token("reader"), token("writer")
		writer.Spec.Class = v1alpha1.ReadWrite
		wall := w.filter("wall", "*:*")
		wall.Spec.ReadAccess = v1alpha1.ReadAccessReadOnly
		w.apply(ctx, wall)
		narrow, wide := token("narrow"), token("wide")
		narrow.Spec.Filters, wide.Spec.Filters = []string{"wall"}, []string{"wall", "other"}
		hero := w.tag("hero", "hero", 1)
		hero.Namespace, hero.Spec.PropertyRef = guests, there()
		for _, o := range []client.Object{reader, writer, narrow, wide, hero} {
			Expect(kube.Create(ctx, o)).To(Succeed())
		}
		grant(ctx, to("AccessToken"))
		Eventually(served).Should(ConsistOf("reader", "narrow", "wide"))
		w.settle(ctx, reader, kstatus.CurrentStatus)
		Expect(reader.Status.Scope).To(Equal(v1alpha1.ScopeProperty))
		w.settle(ctx, writer, kstatus.InProgressStatus)
		w.settle(ctx, hero, kstatus.InProgressStatus)
		Expect(w.accepted()["narrow"].Filters).To(Equal([]string{wall.Status.UUID}), "filters are names in the namespace of the Property")

		both := to("AccessToken", "Tag")
		both.Classes = []v1alpha1.TokenClass{v1alpha1.ReadWrite}
		grant(ctx, both)
		Eventually(served, "1s").Should(ConsistOf("writer"))
		w.settle(ctx, hero, kstatus.CurrentStatus)
		Expect(w.matching(ctx, "tags.marketer_tags.key:hero")).To(BeEquivalentTo(1))
		w.settle(ctx, reader, kstatus.InProgressStatus)

		limited := to("AccessToken")
		limited.Filters = []string{"wall"}
		grant(ctx, limited)
		Eventually(served, "1s").Should(ConsistOf("narrow"))
		Expect(w.matching(ctx, "tags.marketer_tags.key:hero")).To(BeZero())
		w.change(ctx, narrow, func() { narrow.Spec.Suspend = true })
		w.settle(ctx, narrow, kstatus.CurrentStatus)
		grant(ctx)
		Eventually(served, "1s").Should(BeEmpty(), "a suspended token does not keep what the Property no longer grants")

		w.stop()
		start() // the load at start serves none of them either
		Expect(served()).To(BeEmpty())
		grant(ctx, to("AccessToken"))
		Eventually(served).Should(ContainElement("reader"))
		install, err := w.lib.Mark("install")
		Expect(err).NotTo(HaveOccurred())
		w.remove(ctx, reader)
		Eventually(served, "1s").ShouldNot(ContainElement("reader"))
		Eventually(func() ([]library.Owner, error) {
			return w.lib.Owners(ctx, library.Scope{Install: install, Kinds: []library.Kind{library.KindToken}, Namespaces: []string{guests}})
		}).Should(And(Not(BeEmpty()), Not(ContainElement(HaveField("Name", "reader")))))
	})

	It("for labels follows the labels of namespaces", func(ctx context.Context) {
		labelled := to("AccessToken")
		labelled.Namespaces = v1alpha1.GrantedNamespaces{MatchLabels: map[string]string{"shows": w.namespace}}
		t := token("display")
		Expect(kube.Create(ctx, t)).To(Succeed())
		grant(ctx, labelled)
		Expect(w.settle(ctx, property, kstatus.FailedStatus)).To(HaveField("Message",
			HavePrefix("spec.allowFrom[0].namespaces.matchLabels: the operator watches only some namespaces")))
		w.stop()
		w.start(func(o *cluster.Options) { o.Namespaces = nil })
		w.settle(ctx, property, kstatus.CurrentStatus)
		Expect(served()).To(BeEmpty())
		label := func(labels map[string]string) {
			GinkgoHelper()
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: guests}}
			w.change(ctx, ns, func() { ns.Labels = labels })
		}
		label(map[string]string{"shows": w.namespace, "team": "fair"})
		Eventually(served).Should(ConsistOf("display"))
		w.settle(ctx, t, kstatus.CurrentStatus)
		label(map[string]string{"shows": "another"})
		Eventually(served, "1s").Should(BeEmpty())
		label(map[string]string{"shows": w.namespace})
		Eventually(served).Should(ConsistOf("display"))
		w.stop()
		w.start(func(o *cluster.Options) { o.Namespaces = nil })
		Expect(served()).To(ConsistOf("display"))
	})

	It("ends the counts of an object at once", func(ctx context.Context) {
		w.stop()
		w.start(func(o *cluster.Options) {
			o.Namespaces, o.PropertyGrace = append(o.Namespaces, guests), time.Hour
		})
		grant(ctx, to("Tag"))
		hero := w.tag("hero", "hero", 1)
		hero.Namespace, hero.Spec.PropertyRef = guests, there()
		w.apply(ctx, hero)
		grant(ctx)
		Expect(w.settle(ctx, hero, kstatus.InProgressStatus).Reason).To(Equal(v1alpha1.ReasonPropertyNotFound))
	})

	It("limits READ-ONLY tokens of other namespaces to readOnlyQuery, whatever their own query is", func(ctx context.Context) {
		grant(ctx, to("AccessToken"))
		t := token("curious")
		t.Spec.Query = "*:*"
		w.apply(ctx, t)
		is := w.accepted()["curious"]
		Expect(is.ScopeQueries("approval_status:app")).To(Equal([2]string{"*:*", "approval_status:app"}))
	})

	It("cannot be used by an object that moves: propertyRef is immutable", func(ctx context.Context) {
		t := w.token("display")
		w.apply(ctx, t)
		t.Spec.PropertyRef = &v1alpha1.PropertyReference{Namespace: guests, Name: "default"}
		Expect(kube.Update(ctx, t)).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
		t.Spec.PropertyRef = &v1alpha1.PropertyReference{Name: "default"}
		Expect(kube.Update(ctx, t)).To(Succeed())
		guest := token("guest")
		Expect(kube.Create(ctx, guest)).To(Succeed())
		guest.Spec.PropertyRef = nil
		Expect(kube.Update(ctx, guest)).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
	})
})
