package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// filter is a filter of config/samples that a READ-ONLY token may list.
var filter = object(group, "ContentFilter", shop, "latest")

func installSpecs() {
	It("starts in a cluster without remains of an earlier run", expectVacant)
	It("applies config/default, and its pod becomes ready in a namespace that admits only restricted pods", func(ctx context.Context) {
		apply(ctx, kustomization("default")...)
		rolledOut(ctx, nil)
	})
	It("changes nothing when config/default is applied again", func(ctx context.Context) {
		for _, o := range kustomization("default") {
			before, err := get(ctx, o)
			Expect(err).NotTo(HaveOccurred())
			apply(ctx, o)
			after, err := get(ctx, o)
			Expect(err).NotTo(HaveOccurred())
			// Check that the second apply has changed nothing. Compare the generations, because a status may have changed in the meantime,
			// and with it the resourceVersion. For kinds without a generation, compare the resourceVersion.
			Expect(after.GetGeneration()).To(Equal(before.GetGeneration()), "%s %s", o.GetKind(), o.GetName())
			if before.GetGeneration() == 0 {
				Expect(after.GetResourceVersion()).To(Equal(before.GetResourceVersion()), "%s %s", o.GetKind(), o.GetName())
			}
		}
	})
	It("runs the pod without root, on a read-only root, with its default seccomp profile", restricted)
	It("answers probes and metrics", func(ctx context.Context) {
		pod, err := readyPod(ctx)
		Expect(err).NotTo(HaveOccurred())
		for path, want := range map[string]struct {
			port int
			text string
		}{"/readyz": {8081, "[+] definitions"}, "/healthz": {8081, "alive"}, "/metrics": {9090, "vitrine_store_ready 1"}} {
			status, answer, err := page(ctx, pod, want.port, path)
			Expect(err).NotTo(HaveOccurred())
			Expect(status).To(Equal(http.StatusOK), path)
			Expect(string(answer)).To(ContainSubstring(want.text), path)
		}
	})
	It("makes the samples Ready", applySamples)
	It("imports items from a client pod over the Service, with the token and the CA certificate in the Secret", func(ctx context.Context) { importItems(ctx) })
	It("exports the items to a client pod", func(ctx context.Context) { exportItems(ctx, "export", server) })
	It("lists a filter for callers from outside over a forwarded port", readFilter)
	It("refuses callers without a token, or with one of the wrong class", func(ctx context.Context) {
		pod, err := readyPod(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, c := range []struct {
			method, path, token, body string
			status                    int
		}{
			{http.MethodGet, "/v2/content/items?q=*:*&page_size=1", "", "", http.StatusForbidden},
			{http.MethodPost, "/v2/content/", "storefront", `{"content_type":"text","caption":"no"}`, http.StatusForbidden},
			{http.MethodPost, "/v2/content/", "backoffice", `{"content_type":"text"}`, http.StatusUnprocessableEntity},
		} {
			status, answer, err := call(ctx, pod, c.method, c.path, c.token, c.body)
			Expect(err).NotTo(HaveOccurred())
			Expect(status).To(Equal(c.status), "%s %s as %q: %s", c.method, c.path, c.token, answer)
		}
	})
	It("grants the server's account what it needs and nothing else", func(ctx context.Context) {
		expectGrants(ctx, Default, account, accountGroups, `
			yes list vitrine.dev/contentfilters
			yes patch vitrine.dev/contentfilters/status in shop
			yes create /secrets in shop
			yes delete /secrets in shop
			yes create events.k8s.io/events in shop
			yes get /namespaces in kube-system named kube-system
			yes get apiextensions.k8s.io/customresourcedefinitions named tags.vitrine.dev
			no update vitrine.dev/contentfilters in shop
			no delete vitrine.dev/contentfilters in shop
			no deletecollection /secrets in shop
			yes list /namespaces
			no patch /namespaces in shop named shop
			no list /configmaps in shop
			no create /pods in vitrine-system
			no get /nodes
			no patch apiextensions.k8s.io/customresourcedefinitions
			no bind rbac.authorization.k8s.io/clusterroles`)
	})
	It("extends the roles view, edit and admin of a namespace", people)
	It("keeps posted items during a roll-out, on the same volume", func(ctx context.Context) {
		expectReplaced(ctx, func(before *corev1.Pod) { rollOut(ctx, before) })
	})
	It("keeps posted items when its pod is killed", func(ctx context.Context) {
		expectReplaced(ctx, func(before *corev1.Pod) { kill(ctx, before) })
	})
}

// afterSpecs tests an existing installation again, even if its node was killed in the meantime, and then removes the installation.
func afterSpecs() {
	It("becomes ready", func(ctx context.Context) { rolledOut(ctx, nil) })
	It("has the same items and filters as before", readFilter)
	It("exports all items to a client pod with its old token", func(ctx context.Context) { exportItems(ctx, "export-after", server) })
	It("does not delay the deletion of the CRDs while the operator runs", func(ctx context.Context) { remove(ctx, crds()...) })
	It("keeps running without its CRDs, and serves the same items and filters when the CRDs are back", func(ctx context.Context) {
		before, err := readyPod(ctx)
		Expect(err).NotTo(HaveOccurred())
		status, answer, err := page(ctx, before, 8081, "/healthz")
		Expect(err).NotTo(HaveOccurred())
		Expect(status).To(Equal(http.StatusOK), "%s", answer)
		apply(ctx, kustomization("default")...)
		applySamples(ctx)
		readFilter(ctx)
		after, err := readyPod(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after.UID).To(Equal(before.UID))
		Expect(after.Status.ContainerStatuses[0].RestartCount).To(Equal(before.Status.ContainerStatuses[0].RestartCount))
		remove(ctx, crds()...)
	})
	It("does not delay the deletion of its namespace and the namespace of the samples", func(ctx context.Context) {
		remove(ctx, namespace(shop), namespace(system))
		for _, name := range []string{"vitrine", "vitrine-view", "vitrine-edit", "vitrine-admin"} {
			remove(ctx, object(rbacv1.SchemeGroupVersion.String(), "ClusterRole", "", name))
		}
		remove(ctx, object(rbacv1.SchemeGroupVersion.String(), "ClusterRoleBinding", "", "vitrine"))
	})
}

func expectVacant(ctx context.Context) {
	for _, name := range []string{system, shop, other} {
		_, err := get(ctx, namespace(name))
		Expect(err).To(MatchError(gone, "is absent"), "the specs create and delete the namespace %s: use a cluster that does not have it", name)
	}
}

func restricted(ctx context.Context) {
	pod, err := readyPod(ctx)
	Expect(err).NotTo(HaveOccurred())
	ns, err := typed.CoreV1().Namespaces().Get(ctx, system, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(ns.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
	Expect(pod.Spec.SecurityContext.RunAsNonRoot).To(HaveValue(BeTrue()))
	Expect(pod.Spec.SecurityContext.SeccompProfile).To(HaveValue(HaveField("Type", corev1.SeccompProfileTypeRuntimeDefault)))
	Expect(*pod.Spec.Containers[0].SecurityContext).To(gstruct.MatchFields(gstruct.IgnoreExtras, gstruct.Fields{
		"ReadOnlyRootFilesystem": HaveValue(BeTrue()), "AllowPrivilegeEscalation": HaveValue(BeFalse()), "Capabilities": HaveField("Drop", Not(BeEmpty())),
	}))
	// Commands run in the container without a shell, and cannot write to its root filesystem.
	out, err := inPod(ctx, "vitrine", "version")
	Expect(err).NotTo(HaveOccurred())
	Expect(out).To(ContainSubstring("vitrine "))
	out, err = inPod(ctx, "vitrine", "serve", "--without-kubernetes", "--data-dir=/store")
	Expect(err).To(HaveOccurred(), "creating a store on the root filesystem of the image")
	Expect(out).To(ContainSubstring("read-only"))
}

// applySamples applies config/samples, waits until every object is Ready in its current generation, and creates a ConfigMap with the items
// to import.
func applySamples(ctx context.Context) {
	apply(ctx, namespace(shop))
	var declared []*unstructured.Unstructured
	for _, o := range kustomization("samples") {
		if o.GetKind() != "Namespace" { // the namespace was applied above, with additional labels
			declared = append(declared, o)
		}
	}
	apply(ctx, declared...)
	expectReady(ctx, declared...)
	_, err := typed.CoreV1().ConfigMaps(shop).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "items", Namespace: shop}, Data: map[string]string{"items.ndjson": items},
	}, metav1.CreateOptions{})
	Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
}

// expectReady waits until objects are Ready in their current generation.
func expectReady(ctx context.Context, objects ...*unstructured.Unstructured) {
	GinkgoHelper()
	for _, o := range objects {
		Eventually(ctx, func(g Gomega) {
			is, err := get(ctx, o)
			g.Expect(err).NotTo(HaveOccurred())
			seen, _, err := unstructured.NestedInt64(is.Object, "status", "observedGeneration")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(seen).To(Equal(is.GetGeneration()))
			conditions, _, err := unstructured.NestedSlice(is.Object, "status", "conditions")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(conditions).To(ContainElement(And(HaveKeyWithValue("type", "Ready"), HaveKeyWithValue("status", "True"))))
		}).Should(Succeed(), "%s %s becomes Ready", o.GetKind(), o.GetName())
	}
}

func importItems(ctx context.Context) {
	GinkgoHelper()
	job(ctx, "import", "import", "/items/items.ndjson", "--on-conflict=skip", "--server="+server)
}

func exportItems(ctx context.Context, name, from string) {
	GinkgoHelper()
	out := job(ctx, name, "export", "--server="+from)
	Expect(strings.Count(out, `"approval_status"`)).To(Equal(sampleItems), "items read")
}

// readFilter checks in every replica that a filter, read with a READ-ONLY token, has as many items as the query of the filter, read with
// the READ-WRITE token.
func readFilter(ctx context.Context) {
	Eventually(ctx, func(g Gomega) {
		path, err := filterPath(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		pods, err := readyPods(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for _, pod := range pods {
			got, err := total(ctx, pod, path+"?page_size=1", "storefront")
			g.Expect(err).NotTo(HaveOccurred())
			want, err := total(ctx, pod, "/v2/content/items?q=approval_status:app&page_size=1", "backoffice")
			g.Expect(err).NotTo(HaveOccurred())
			all, err := total(ctx, pod, "/v2/content/items?q=*:*&page_size=1", "backoffice")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(And(Equal(want), BeNumerically(">", 0)), "items of the filter, against those of its query")
			g.Expect(all).To(Equal(sampleItems))
		}
	}).WithTimeout(prompt).Should(Succeed())
}

// filterPath returns the path of the URL in the filter's status.
func filterPath(ctx context.Context) (string, error) {
	o, err := get(ctx, filter)
	if err != nil {
		return "", err
	}
	url, _, err := unstructured.NestedString(o.Object, "status", "url")
	path, found := strings.CutPrefix(url, server)
	if err != nil || !found {
		return "", fmt.Errorf("the filter's URL is %q, which does not begin with %s: %w", url, server, err)
	}
	return path, nil
}

// account is the user name of the server in the API server.
const account = "system:serviceaccount:" + system + ":vitrine"

var accountGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + system, "system:authenticated"}

// expectGrants asks the API server for the permissions of a user. Each line of grants is a permission and the expected answer, such as "yes
// patch GROUP/RESOURCE/status in NAMESPACE named NAME".
func expectGrants(ctx context.Context, g Gomega, user string, groups []string, grants string) {
	GinkgoHelper()
	for line := range strings.Lines(strings.TrimSpace(grants)) {
		words := strings.Fields(line)
		resource := append(strings.Split(words[2], "/"), "")
		about := &authorizationv1.ResourceAttributes{Verb: words[1], Group: resource[0], Resource: resource[1], Subresource: resource[2]}
		for i := 3; i < len(words); i += 2 {
			if words[i] == "in" {
				about.Namespace = words[i+1]
			} else {
				about.Name = words[i+1]
			}
		}
		review, err := typed.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups, ResourceAttributes: about},
		}, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(review.Status.Allowed).To(Equal(words[0] == "yes"), "%s: %s", user, line)
	}
}

// people checks the permissions on Vitrine's kinds that the cluster roles view, edit and admin give to users.
func people(ctx context.Context) {
	for role, grants := range map[string]string{
		"view": `
			yes list vitrine.dev/contentfilters in shop
			yes list vitrine.dev/accesstokens in shop
			no create vitrine.dev/contentfilters in shop`,
		"edit": `
			yes list vitrine.dev/properties in shop
			yes create vitrine.dev/contentfilters in shop
			yes delete vitrine.dev/tags in shop
			no create vitrine.dev/accesstokens in shop
			no update vitrine.dev/properties in shop`,
		"admin": `
			yes create vitrine.dev/activateunits in shop
			yes create vitrine.dev/accesstokens in shop
			yes update vitrine.dev/properties in shop
			no create vitrine.dev/contentfilters in vitrine-system`,
	} {
		user := role + "@shop.example"
		_, err := typed.RbacV1().RoleBindings(shop).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "e2e-" + role, Namespace: shop},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}, metav1.CreateOptions{})
		Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
		Eventually(ctx, func(g Gomega) { expectGrants(ctx, g, user, nil, grants) }).WithTimeout(prompt).Should(Succeed())
	}
}

// rollOut makes the Deployment replace all pods, including the given pod.
func rollOut(ctx context.Context, before *corev1.Pod) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"e2e.vitrine.dev/restarted-after":%q}}}}}`, before.Name)
	_, err := typed.AppsV1().Deployments(system).Patch(ctx, "vitrine", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// kill deletes a pod without a grace period, so that the kubelet kills its container.
func kill(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Expect(typed.CoreV1().Pods(system).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})).To(Succeed())
}

// expectReplaced calls replace to replace the server's pod, and checks that the new pod serves the same content from the same volume.
func expectReplaced(ctx context.Context, replace func(before *corev1.Pod)) {
	GinkgoHelper()
	claim := object("v1", "PersistentVolumeClaim", system, "vitrine")
	volume, err := get(ctx, claim)
	Expect(err).NotTo(HaveOccurred())
	before, err := readyPod(ctx)
	Expect(err).NotTo(HaveOccurred())
	replace(before)
	rolledOut(ctx, before)
	is, err := get(ctx, claim)
	Expect(err).NotTo(HaveOccurred())
	Expect(is.GetUID()).To(Equal(volume.GetUID()), "the claim")
	readFilter(ctx)
}
