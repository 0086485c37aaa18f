package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/server/library"
)

// manifests returns manifests as a team would keep them in Git: two Properties, and objects of every kind that refer to each other.
func (w *world) manifests() []client.Object {
	outlet := w.filter("outlet-wall", "approval_status:app")
	outlet.Spec.PropertyRef = &v1alpha1.PropertyReference{Name: "outlet"}
	wall := w.filter("wall", "approval_status:app AND tags.marketer_tags.key:summer")
	wall.Spec.FavoriteTag = &v1alpha1.TagName{Namespace: "marketer_tags", Key: "hero"}
	wall.Spec.ReadAccess = v1alpha1.ReadAccessReadOnly
	display := w.token("display")
	display.Spec.Filters = []string{"wall", "latest"}
	backoffice := w.token("backoffice")
	backoffice.Spec.Class = v1alpha1.ReadWrite
	rule := w.tag("summer", "summer")
	rule.Spec.Selector = &v1alpha1.Selector{Query: "id:(1 2)"}
	shoes := w.unit("shoes")
	shoes.Spec.Selector = &v1alpha1.Selector{Query: "tags.marketer_tags.key:summer"}
	newsletter := w.unit("newsletter")
	newsletter.Spec.Default = true
	broken := w.filter("broken", "approval_status:(app")
	orphan := w.filter("orphan", "approval_status:app")
	orphan.Spec.PropertyRef = &v1alpha1.PropertyReference{Name: "nowhere"}
	return []client.Object{
		w.property("default"), w.property("outlet"), display, backoffice, wall, w.filter("latest", "approval_status:app"), outlet,
		rule, w.tag("hero", "hero", 2), shoes, newsletter, broken, orphan,
	}
}

// fresh returns copies of objects, so that a test can create them without changing the originals, which represent the files in Git.
func fresh(objects []client.Object) []client.Object {
	copies := make([]client.Object, len(objects))
	for i, o := range objects {
		copies[i] = o.DeepCopyObject().(client.Object)
	}
	return copies
}

// state returns the state of objects in the store and on the API server, but leaves out times and the values of tokens.
func (w *world) state(ctx context.Context, objects []client.Object) (map[string]any, error) {
	install, err := w.lib.Mark("install")
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	for _, o := range fresh(objects) {
		u, err := w.read(ctx, o)
		if err != nil {
			return nil, err
		}
		name := u.GetKind() + " " + u.GetName()
		status, _, err := unstructured.NestedMap(u.Object, "status")
		if err != nil {
			return nil, err
		}
		conditions := map[string]string{}
		for _, c := range *o.(v1alpha1.Object).StatusConditions() {
			conditions[c.Type] = fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
		}
		maps.DeleteFunc(status, func(key string, _ any) bool {
			return slices.Contains([]string{"conditions", "lastRotation", "observedGeneration"}, key)
		})
		all[name+" status"], all[name+" conditions"] = status, conditions

		var kind library.Kind
		for k := library.KindProperty; k <= library.KindUnit; k++ {
			if k.String() == u.GetKind() {
				kind = k
			}
		}
		d, err := w.lib.Definition(ctx, library.Owner{Install: install, Kind: kind, Namespace: w.namespace, Name: o.GetName()})
		if errors.Is(err, library.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d.Created = time.Time{}
		if d.Token != nil {
			values := make([]library.TokenValue, len(d.Token.Values))
			d.Token = &library.Token{ReadWrite: d.Token.ReadWrite, Filters: d.Token.Filters, Values: values}
		}
		if d.Unit != nil {
			unit := *d.Unit
			unit.Unit.CreatedOn, unit.Unit.LastModified = "", ""
			d.Unit = &unit
		}
		all[name] = d
	}
	return all, nil
}

// comesTo waits until objects have the state want.
func (w *world) comesTo(ctx context.Context, objects []client.Object, want map[string]any) {
	GinkgoHelper()
	Eventually(func() (string, error) {
		w.collectGarbage(ctx)
		got, err := w.state(ctx, objects)
		return cmp.Diff(want, got), err
	}).Should(BeEmpty(), "the state (-want +got)")
	for _, o := range fresh(objects) {
		w.lint(ctx, o)
		Expect(o.GetFinalizers()).To(BeEmpty(), "nothing may delay a deletion")
	}
}

// servesNothing waits until the library serves nothing that a manifest of the world declared.
func (w *world) servesNothing(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() int64 { return w.lib.State(ctx).Definitions }).Should(BeZero())
	Expect(w.accepted()).To(BeEmpty())
	Expect(w.lib.Properties()).To(BeEmpty())
}

// collectGarbage deletes the Secrets whose AccessToken no longer exists. In a cluster, kube-controller-manager deletes them, but it does
// not run in these tests.
func (w *world) collectGarbage(ctx context.Context) {
	GinkgoHelper()
	var secrets corev1.SecretList
	Expect(kube.List(ctx, &secrets, client.InNamespace(w.namespace))).To(Succeed())
	for _, s := range secrets.Items {
		holder := metav1.GetControllerOf(&s)
		if holder == nil {
			continue
		}
		t := &v1alpha1.AccessToken{}
		err := kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: holder.Name}, t)
		if apierrors.IsNotFound(err) || err == nil && t.UID != holder.UID {
			Expect(client.IgnoreNotFound(kube.Delete(ctx, &s, client.Preconditions{UID: &s.UID}))).To(Succeed())
			continue
		}
		Expect(err).NotTo(HaveOccurred())
	}
}

// createAll creates objects one after the other without waiting in between.
func createAll(ctx context.Context, objects []client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(kube.Create(ctx, o)).To(Succeed())
	}
}

var _ = Describe("Manifests from Git", func() {
	// dice is the random source of these specs. It depends only on Ginkgo's seed.
	var dice *rand.Rand
	BeforeEach(func() { dice = rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0)) }) //nolint:gosec // no secret is generated from dice

	shuffled := func(objects []client.Object) []client.Object {
		list := fresh(objects)
		dice.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		names := make([]string, len(list))
		for i, o := range list {
			names[i] = fmt.Sprintf("%T %s", o, o.GetName())
		}
		GinkgoWriter.Println("in this order:", strings.Join(names, ", "))
		return list
	}

	// stocked returns a world with a running operator, the applied manifests, items in the property "default", and the resulting
	// state.
	stocked := func(ctx context.Context) (*world, []client.Object, map[string]any) {
		GinkgoHelper()
		w := newWorld(ctx)
		w.start()
		objects := w.manifests()
		createAll(ctx, fresh(objects))
		Eventually(func() any { return w.lib.Properties() }).Should(HaveLen(2))
		w.post(ctx, 1, 2, 3)
		counts := map[string]any{
			"Property default": "items 3", "Property outlet": "items 0", "ContentFilter wall": "matchedItems 2",
			"ContentFilter latest": "matchedItems 3", "ContentFilter outlet-wall": "matchedItems 0", "Tag summer": "applied 2",
			"Tag hero": "applied 1", "ActivateUnit shoes": "attached 2", "ActivateUnit newsletter": "attached 0",
			"ContentFilter broken": "Stalled", "ContentFilter orphan": "Reconciling", "AccessToken display": "Ready", "AccessToken backoffice": "Ready",
		}
		Expect(counts).To(HaveLen(len(objects)))
		var want map[string]any
		Eventually(func() (string, error) {
			var err error
			if want, err = w.state(ctx, objects); err != nil {
				return "", err
			}
			got := map[string]any{}
			for name, wanted := range counts {
				status, conditions := want[name+" status"].(map[string]any), want[name+" conditions"].(map[string]string)
				member, _, counted := strings.Cut(wanted.(string), " ")
				if counted {
					got[name] = fmt.Sprintf("%s %v", member, status[member])
				} else if strings.HasPrefix(conditions[member], "True ") {
					got[name] = member
				}
			}
			return cmp.Diff(counts, got), nil
		}).Should(BeEmpty(), "the counts (-want +got)")
		return w, objects, want
	}

	It("reach the same state in any order of apply, and nothing in any order of prune", func(ctx context.Context) {
		w, objects, want := stocked(ctx)
		Expect(want).To(HaveKey("ContentFilter wall"))
		for round := range 6 {
			By("pruning")
			down := round%3 == 2 // whether the operator is stopped while the objects are deleted
			if down {
				w.stop()
			}
			for _, o := range shuffled(objects) {
				Expect(kube.Delete(ctx, o)).To(Succeed())
			}
			if down {
				w.start()
			}
			w.servesNothing(ctx)
			Expect(w.lib.State(ctx).Items).To(BeEquivalentTo(3), "items stay")

			By("applying")
			createAll(ctx, shuffled(objects))
			w.comesTo(ctx, objects, want)
			Expect(w.matching(ctx, "tags.marketer_tags.key:summer")).To(BeEquivalentTo(2))
		}
	})

	It("reach the same state after repeated applies and deletions", func(ctx context.Context) {
		w, objects, want := stocked(ctx)
		there := map[int]bool{}
		for i := range objects {
			there[i] = true
		}
		for range 80 {
			i := dice.IntN(len(objects))
			o := fresh(objects)[i]
			if there[i] = !there[i]; there[i] {
				Expect(kube.Create(ctx, o)).To(Succeed())
			} else {
				Expect(kube.Delete(ctx, o)).To(Succeed())
			}
		}
		for i, o := range fresh(objects) {
			if !there[i] {
				Expect(kube.Create(ctx, o)).To(Succeed())
			}
		}
		w.comesTo(ctx, objects, want)
	})

	It("are deleted with their namespace without delay, and return with it under the same ids", func(ctx context.Context) {
		w, objects, want := stocked(ctx)
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
		Expect(kube.Delete(ctx, ns)).To(Succeed())

		By("deleting the contents as kube-controller-manager does, the Secrets first")
		// The API server may at first still admit new objects to the deleted namespace, so the operator may have recreated a Secret. Delete it
		// again.
		Eventually(func() (string, error) {
			return w.logs.String(), kube.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(w.namespace))
		}).Should(ContainSubstring("because it is being terminated"), "the operator cannot recreate the Secrets")
		for _, o := range shuffled(objects) {
			Expect(kube.Delete(ctx, o)).To(Succeed())
		}
		w.servesNothing(ctx)
		Expect(kube.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(w.namespace))).To(Succeed())
		Consistently(func() ([]corev1.Secret, error) {
			var left corev1.SecretList
			err := kube.List(ctx, &left, client.InNamespace(w.namespace))
			return left.Items, err
		}, "300ms").Should(BeEmpty(), "the operator writes no more Secrets")
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(ns), ns)).To(Succeed())
		ns.Spec.Finalizers = nil
		Expect(kube.SubResource("finalize").Update(ctx, ns)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(ns), ns)) }).Should(BeTrue())

		By("applying all of it again")
		Expect(kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})).To(Succeed())
		createAll(ctx, shuffled(objects))
		w.comesTo(ctx, objects, want)
	})

	It("stay served when their CRDs are deleted, and do not change when both are applied again while the operator runs", func(ctx context.Context) {
		w, objects, want := stocked(ctx)
		stored := w.lib.State(ctx).Definitions
		w.pastSecond()
		DeferCleanup(installCRDs)
		names := []string{"accesstokens", "activateunits", "contentfilters", "properties", "tags"}
		dice.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			deleteCRD(ctx, name+".vitrine.dev")
		}
		Eventually(func() *library.HeldError { return w.supervisor.Status().HeldSweep }).Should(
			Equal(&library.HeldError{Remove: int(stored), Total: int(stored)}))
		Expect(w.lib.Properties()).To(ConsistOf(w.id("default"), w.id("outlet")))

		installCRDs()
		for _, o := range shuffled(objects) {
			Eventually(func() error { return kube.Create(ctx, o) }).Should(Or(Succeed(), MatchError(apierrors.IsAlreadyExists, "is there")))
		}
		w.comesTo(ctx, objects, want)
		Eventually(func() *library.HeldError { return w.supervisor.Status().HeldSweep }).Should(BeNil())
	})

	It("make a token wait until the Secret of its predecessor is collected", func(ctx context.Context) {
		w := newServedWorld(ctx)
		w.apply(ctx, w.token("storefront"))
		old := string(w.own(ctx, "storefront").Data["token"])
		Expect(kube.Delete(ctx, w.token("storefront"))).To(Succeed())
		again := w.token("storefront")
		Expect(kube.Create(ctx, again)).To(Succeed())
		Expect(w.settle(ctx, again, kstatus.InProgressStatus).Reason).To(Equal(v1alpha1.ReasonSecretConflict))

		w.collectGarbage(ctx)
		w.settle(ctx, again, kstatus.CurrentStatus)
		Expect(w.accepts(string(w.own(ctx, "storefront").Data["token"]))).To(BeTrue())
		Expect(w.accepts(old)).To(BeFalse())
	})

	It("show no spurious change to server-side and client-side apply", func(ctx context.Context) {
		w := newServedWorld(ctx)
		user, err := plane.AddUser(envtest.User{Name: "gitops", Groups: []string{"system:masters"}}, nil)
		Expect(err).NotTo(HaveOccurred())
		kubectl, err := user.Kubectl()
		Expect(err).NotTo(HaveOccurred())
		seen := map[string]bool{}
		for _, manifest := range w.examples() {
			name := manifest.GetKind() + " " + manifest.GetName()
			if manifest.GetKind() == v1alpha1.PropertyKind {
				w.remove(ctx, w.property("default")) // recreated below, because all examples belong to this Property
			}
			apply := func(options ...client.ApplyOption) *unstructured.Unstructured {
				GinkgoHelper()
				u := manifest.DeepCopy()
				options = append(options, client.FieldOwner("kustomize-controller"), client.ForceOwnership)
				Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), options...)).To(Succeed(), name)
				return u
			}
			apply()
			typed, err := kube.Scheme().New(manifest.GroupVersionKind())
			Expect(err).NotTo(HaveOccurred())
			o := typed.(client.Object)
			o.SetNamespace(w.namespace)
			o.SetName(manifest.GetName())
			w.settle(ctx, o, kstatus.CurrentStatus)
			live := manifest.DeepCopy()
			Expect(kube.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())

			planned := apply(client.DryRunAll)
			Expect(cmp.Diff(live.Object["spec"], planned.Object["spec"])).To(BeEmpty(), "%s: spec (-live +dry run)", name)
			Expect(planned.GetGeneration()).To(Equal(live.GetGeneration()), name)
			Expect(cmp.Diff(manifest.Object["spec"], live.Object["spec"])).To(BeEmpty(), "%s: spec (-manifest +live)", name)
			// The status may still change when the counts do, but the spec must not change.
			Expect(apply().GetGeneration()).To(Equal(live.GetGeneration()), name)
			w.remove(ctx, o)
			w.collectGarbage(ctx)

			path := filepath.Join(GinkgoT().TempDir(), "manifest.yaml")
			text, err := yaml.Marshal(manifest.Object)
			Expect(err).NotTo(HaveOccurred())
			Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
			for _, says := range []string{"created", "unchanged"} {
				out, _, err := kubectl.Run("apply", "-f", path)
				Expect(err).NotTo(HaveOccurred(), name)
				said, err := io.ReadAll(out)
				Expect(err).NotTo(HaveOccurred(), name)
				Expect(string(said)).To(HaveSuffix(" "+says+"\n"), name)
				w.settle(ctx, o, kstatus.CurrentStatus)
			}
			seen[manifest.GetKind()] = true
			if manifest.GetKind() != v1alpha1.PropertyKind {
				w.remove(ctx, o)
			}
			w.collectGarbage(ctx)
		}
		Expect(seen).To(HaveLen(len(subjects)), "an example of each kind")
	})

	It("adopt a filter that was created over HTTP, and hand it back if they are pruned while the operator is down", func(ctx context.Context) {
		w := newServedWorld(ctx)
		uuid, id := "6f1c1c1c-0000-4000-8000-000000000001", int64(5823445520123)
		w.madeOverHTTP(ctx, uuid, id)
		f := w.filter("a", "approval_status:app")
		f.Spec.Adopt = &v1alpha1.AdoptedFilter{FilterID: id}
		w.apply(ctx, f)
		record, err := w.lib.Filter(w.id("default"), library.FilterRef{UUID: uuid})
		Expect(err).NotTo(HaveOccurred())
		Expect(record).To(And(HaveField("Filter.ID", id), HaveField("Filter.Query", "approval_status:app"), HaveField("Owner.Name", "a")))
		_, err = w.lib.EditFilter(ctx, w.id("default"), library.FilterRef{ID: id}, func(library.FilterRecord) (*library.Filter, error) { return nil, nil })
		Expect(err).To(MatchError(ContainSubstring(w.namespace+"/a")), "HTTP is told who has it")

		w.stop()
		w.remove(ctx, f)
		w.start()
		Eventually(func() (library.FilterRecord, error) {
			return w.lib.Filter(w.id("default"), library.FilterRef{UUID: uuid})
		}).
			Should(And(HaveField("Filter.ID", id), HaveField("Filter.Name", "made over HTTP"), HaveField("Owner", library.Owner{})))
	})

	It("hand a filter back when they no longer adopt it, and then have a URL of their own", func(ctx context.Context) {
		w := newServedWorld(ctx)
		uuid, id := "6f1c1c1c-0000-4000-8000-000000000001", int64(5823445520123)
		w.madeOverHTTP(ctx, uuid, id)
		f := w.filter("a", "approval_status:app")
		f.Spec.Adopt = &v1alpha1.AdoptedFilter{FilterID: id}
		w.apply(ctx, f)
		w.change(ctx, f, func() { f.Spec.Adopt = nil })
		w.settle(ctx, f, kstatus.CurrentStatus)
		own, ownID := library.FilterIDs(w.id("default"), library.KindFilter, w.namespace, "a")
		Expect(f.Status).To(And(HaveField("UUID", own), HaveField("ID", ownID), HaveField("URL", HaveSuffix(own))))
		Expect(w.lib.Filter(w.id("default"), library.FilterRef{UUID: uuid})).
			To(And(HaveField("Filter.ID", id), HaveField("Filter.Name", "made over HTTP"), HaveField("Owner", library.Owner{})))
	})

	It("never cause a write to an existing Secret", func(ctx context.Context) {
		w := newServedWorld(ctx)
		s := w.secret("sealed", "0123456789abcdefghijklmnopqrstuvwxyz")
		s.Labels = map[string]string{tokens.Label: "storefront"}
		Expect(kube.Create(ctx, s)).To(Succeed())
		t := w.token("storefront")
		t.Spec.ExistingSecret = &v1alpha1.SecretKeyReference{Name: "sealed", Key: "token"}
		w.apply(ctx, t)
		s.Data["token"] = []byte("another-value-of-more-than-thirty-two-characters")
		Expect(kube.Update(ctx, s)).To(Succeed())
		Eventually(func() bool { return w.accepts(string(s.Data["token"])) }).Should(BeTrue())
		w.change(ctx, t, func() { t.Spec.Class = v1alpha1.ReadWrite })
		w.settle(ctx, t, kstatus.CurrentStatus)
		w.change(ctx, t, func() { t.Spec.Suspend = true })
		Eventually(func() any { return w.condition(ctx, t, v1alpha1.SuspendedCondition) }).ShouldNot(BeNil())
		w.stop()
		w.start()
		w.change(ctx, t, func() { t.Spec.Suspend = false })
		w.settle(ctx, t, kstatus.CurrentStatus)
		w.remove(ctx, t)
		Eventually(w.accepted).Should(BeEmpty())
		Expect(w.own(ctx, "sealed").ResourceVersion).To(Equal(s.ResourceVersion))
		Expect(w.network.written()).NotTo(ContainElement(ContainSubstring("/secrets")))
	})
})

// examples returns the manifests of docs/kinds.md and config/samples in the world's namespace.
func (w *world) examples() []*unstructured.Unstructured {
	GinkgoHelper()
	page, err := os.ReadFile("../docs/kinds.md")
	Expect(err).NotTo(HaveOccurred())
	var texts []string
	for i, block := range strings.Split(string(page), "```yaml\n") {
		if i > 0 {
			text, _, _ := strings.Cut(block, "```")
			texts = append(texts, text)
		}
	}
	samples, err := filepath.Glob("../config/samples/*.yaml")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range samples {
		text, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		texts = append(texts, strings.Split(string(text), "\n---\n")...)
	}
	var examples []*unstructured.Unstructured
	for _, text := range texts {
		object, err := yaml.YAMLToJSON([]byte(text))
		Expect(err).NotTo(HaveOccurred(), text)
		u := &unstructured.Unstructured{}
		Expect(u.UnmarshalJSON(object)).To(Succeed(), text)
		if u.GroupVersionKind().Group == v1alpha1.GroupVersion.Group {
			u.SetNamespace(w.namespace)
			examples = append(examples, u)
		}
	}
	return examples
}

// madeOverHTTP stores a filter in the property "default", as the HTTP interface does.
func (w *world) madeOverHTTP(ctx context.Context, uuid string, id int64) {
	GinkgoHelper()
	results, err := w.lib.Apply(ctx, []library.Definition{{Property: w.id("default"), Filter: &library.Filter{
		UUID: uuid, ID: id, Name: "made over HTTP", Query: "approval_status:rej", Order: "created_on:desc",
	}}})
	Expect(err).NotTo(HaveOccurred())
	Expect(results[0].Err).NotTo(HaveOccurred())
}
