package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	group = "vitrine.dev/v1alpha1"
	// filter is one of config/samples that a READ-ONLY token may list.
	filter = "latest"
)

// install walks an install from config/default.
func (w *world) install() []step {
	return []step{
		{"nothing of an earlier walk is there", w.vacant},
		{"config/default is applied, and its pod becomes ready where only restricted pods are admitted", w.installDefault},
		{"applying it again changes nothing", w.unchanged},
		{"the pod runs without root, on a read-only root, with its default seccomp profile", w.restricted},
		{"probes and metrics answer", w.probes},
		{"the samples become Ready", w.applySamples},
		{"a client pod imports items over the Service, with the token and the authority from its Secret", w.importItems("import")},
		{"a client pod reads them back", w.exportItems("export", server)},
		{"callers from outside read a filter over a forwarded port", w.readFilter},
		{"callers without a token, or with one of the wrong class, are refused", w.refused},
		{"the server's account may do what it needs and nothing else", w.permissions},
		{"view, edit and admin of a namespace say who may declare what", w.people},
		{"what was posted survives a roll-out, on the same volume", w.rollOut},
		{"what was posted survives a killed pod", w.killPod},
	}
}

// after looks at the install again, be it that nothing happened to it or that its node was killed, and removes it.
func (w *world) after() []step {
	return []step{
		{"the server is ready, whatever happened to its node", func(ctx context.Context) error { _, err := w.rolledOut(ctx); return err }},
		{"the items and the filters are as they were", w.readFilter},
		{"a client pod reads all of them with its old token", w.exportItems("export-after", server)},
		{"the CRDs, deleted while the operator runs, go at once", w.removeCRDs},
		{"the operator outlives its CRDs, and serves the same items under the same filters when they are back", w.outlived},
		{"its namespace and that of the samples go at once", w.removeAll},
	}
}

func (w *world) vacant(ctx context.Context) error {
	for _, name := range []string{system, shop, other} {
		if err := w.absent(ctx, "v1", "Namespace", "", name); err != nil {
			return fmt.Errorf("the walk makes and removes the namespace %s, so take a cluster without it: %w", name, err)
		}
	}
	return nil
}

func (w *world) installDefault(ctx context.Context) error {
	objects, err := w.kustomization("default")
	if err != nil {
		return err
	}
	if err := w.apply(ctx, objects...); err != nil {
		return err
	}
	_, err = w.rolledOut(ctx)
	return err
}

func (w *world) unchanged(ctx context.Context) error {
	objects, err := w.kustomization("default")
	if err != nil {
		return err
	}
	for _, o := range objects {
		before, err := w.object(ctx, o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())
		if err != nil {
			return err
		}
		if err := w.apply(ctx, o); err != nil {
			return err
		}
		after, err := w.object(ctx, o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())
		if err != nil {
			return err
		}
		// The generation: a status may move meanwhile. Kinds without one say it by their version.
		if before.GetGeneration() != after.GetGeneration() || before.GetGeneration() == 0 && before.GetResourceVersion() != after.GetResourceVersion() {
			return fmt.Errorf("%s %s changed", o.GetKind(), o.GetName())
		}
	}
	return nil
}

func (w *world) restricted(ctx context.Context) error {
	pod, err := w.pod(ctx)
	if err != nil {
		return err
	}
	ns, err := w.typed.CoreV1().Namespaces().Get(ctx, system, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if ns.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		return errors.New("the namespace admits more than restricted pods")
	}
	p, c := pod.Spec.SecurityContext, pod.Spec.Containers[0].SecurityContext
	switch {
	case p.RunAsNonRoot == nil || !*p.RunAsNonRoot || p.SeccompProfile == nil || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
		return fmt.Errorf("the pod's security context is %+v", p)
	case c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem || c.AllowPrivilegeEscalation == nil || *c.AllowPrivilegeEscalation || len(c.Capabilities.Drop) == 0:
		return fmt.Errorf("the container's security context is %+v", c)
	}
	// That commands can be run in it, without a shell, and that none of them can write to its root.
	if out, err := w.exec(ctx, "vitrine", "version"); err != nil {
		return err
	} else if !strings.Contains(out, "vitrine ") {
		return fmt.Errorf("vitrine version in the pod printed %q", out)
	}
	_, err = w.exec(ctx, "vitrine", "serve", "--without-kubernetes", "--data-dir=/store")
	if err == nil {
		return errors.New("a store can be made on the image's root")
	}
	if !strings.Contains(err.Error(), "read-only") {
		return fmt.Errorf("a store on the image's root was refused, but not as read-only: %w", err)
	}
	return nil
}

func (w *world) probes(ctx context.Context) error {
	for _, c := range []struct {
		port       int
		path, says string
	}{
		{8081, "/readyz", "[+] definitions"},
		{8081, "/healthz", "alive"},
		{9090, "/metrics", "vitrine_store_ready 1"},
	} {
		a, err := w.page(ctx, c.port, c.path)
		if err != nil {
			return err
		}
		if a.status != http.StatusOK || !strings.Contains(string(a.body), c.says) {
			return fmt.Errorf("%s: status %d, want 200 and %q: %s", c.path, a.status, c.says, a.body)
		}
	}
	return nil
}

// applySamples applies config/samples and waits until every object is Ready as it is declared.
func (w *world) applySamples(ctx context.Context) error {
	objects, err := w.kustomization("samples")
	if err != nil {
		return err
	}
	if err := w.namespace(ctx, shop); err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() == "Namespace" {
			continue // it is there, with more labels
		}
		if err := w.apply(ctx, o); err != nil {
			return err
		}
	}
	for _, o := range objects {
		if o.GetKind() != "Namespace" {
			if err := w.ready(ctx, o); err != nil {
				return err
			}
		}
	}
	items := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "items", Namespace: shop}, Data: map[string]string{"items.ndjson": string(w.items)}}
	if _, err := w.typed.CoreV1().ConfigMaps(shop).Create(ctx, items, metav1.CreateOptions{}); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	return nil
}

// ready waits until an object of ours is Ready.
func (w *world) ready(ctx context.Context, o *unstructured.Unstructured) error {
	return eventually(ctx, patience, func() error {
		is, err := w.object(ctx, o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())
		if err != nil {
			return err
		}
		if state := readiness(is); state != "" {
			return fmt.Errorf("%s %s: %s", o.GetKind(), o.GetName(), state)
		}
		return nil
	})
}

// readiness says why an object is not Ready as it is declared; "" when it is.
func readiness(o *unstructured.Unstructured) string {
	seen, _, err := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if err != nil || seen != o.GetGeneration() {
		return fmt.Sprintf("generation %d was seen of %d", seen, o.GetGeneration())
	}
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return err.Error()
	}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" {
			if c["status"] == "True" {
				return ""
			}
			return fmt.Sprint(c["reason"], ": ", c["message"])
		}
	}
	return "there is no condition Ready"
}

func (w *world) importItems(job string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.job(ctx, job, "backoffice", "import", "/items/items.ndjson", "--on-conflict=skip",
			"--server="+server, "--token-file=/token/token", "--ca-file=/token/ca.crt")
		return err
	}
}

func (w *world) exportItems(job, from string) func(context.Context) error {
	return func(ctx context.Context) error {
		out, err := w.job(ctx, job, "backoffice", "export", "--server="+from, "--token-file=/token/token", "--ca-file=/token/ca.crt")
		if err != nil {
			return err
		}
		if n := strings.Count(out, `"approval_status"`); n != sampleItems {
			return fmt.Errorf("it read %d items, want %d", n, sampleItems)
		}
		return nil
	}
}

// readFilter lists a filter with a READ-ONLY token: the same items as the query itself gives the READ-WRITE one.
func (w *world) readFilter(ctx context.Context) error {
	return eventually(ctx, prompt, func() error {
		path, err := w.filterPath(ctx)
		if err != nil {
			return err
		}
		got, err := w.total(ctx, path+"?page_size=1", "storefront")
		if err != nil {
			return err
		}
		want, err := w.total(ctx, "/v2/content/items?q=approval_status:app&page_size=1", "backoffice")
		if err != nil {
			return err
		}
		all, err := w.total(ctx, "/v2/content/items?q=*:*&page_size=1", "backoffice")
		if err != nil {
			return err
		}
		if got != want || got == 0 || all != sampleItems {
			return fmt.Errorf("the filter lists %d items, its query %d; there are %d of %d", got, want, all, sampleItems)
		}
		return nil
	})
}

// filterPath is what the filter's status says of where it is, without the server's address.
func (w *world) filterPath(ctx context.Context) (string, error) {
	o, err := w.object(ctx, group, "ContentFilter", shop, filter)
	if err != nil {
		return "", err
	}
	at, _, err := unstructured.NestedString(o.Object, "status", "url")
	if err != nil {
		return "", err
	}
	path, found := strings.CutPrefix(at, server)
	if !found {
		return "", fmt.Errorf("the filter's address is %q, not of %s", at, server)
	}
	return path, nil
}

func (w *world) refused(ctx context.Context) error {
	for _, c := range []struct {
		method, path, token string
		body                string
		status              int
	}{
		{http.MethodGet, "/v2/content/items?q=*:*&page_size=1", "", "", http.StatusForbidden},
		{http.MethodPost, "/v2/content/", "storefront", `{"content_type":"text","caption":"no"}`, http.StatusForbidden},
		{http.MethodPost, "/v2/content/", "backoffice", `{"content_type":"text"}`, http.StatusUnprocessableEntity},
	} {
		a, err := w.call(ctx, c.method, c.path, c.token, []byte(c.body))
		if err != nil {
			return err
		}
		if a.status != c.status {
			return fmt.Errorf("%s %s as %q: status %d, want %d: %s", c.method, c.path, c.token, a.status, c.status, a.body)
		}
	}
	return nil
}

// may asks the API server what somebody may do.
func (w *world) may(ctx context.Context, user string, groups []string, verb, group, resource, namespace, name string) (bool, error) {
	resource, sub, _ := strings.Cut(resource, "/")
	r, err := w.typed.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: name},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask what %s may do: %w", user, err)
	}
	return r.Status.Allowed, nil
}

// grant is a question about permissions, with the answer that is wanted.
type grant struct {
	verb, group, resource, namespace, name string
	want                                   bool
}

func (w *world) grants(ctx context.Context, user string, groups []string, all []grant) error {
	for _, g := range all {
		got, err := w.may(ctx, user, groups, g.verb, g.group, g.resource, g.namespace, g.name)
		if err != nil {
			return err
		}
		if got != g.want {
			return fmt.Errorf("%s may %s %s of %q in %q: %v, want %v", user, g.verb, g.resource, g.group, g.namespace, got, g.want)
		}
	}
	return nil
}

// account is the server's, as the API server knows it.
func account() (string, []string) {
	return "system:serviceaccount:" + system + ":vitrine", []string{"system:serviceaccounts", "system:serviceaccounts:" + system, "system:authenticated"}
}

func (w *world) permissions(ctx context.Context) error {
	user, groups := account()
	return w.grants(ctx, user, groups, []grant{
		{"list", "vitrine.dev", "contentfilters", "", "", true},
		{"patch", "vitrine.dev", "contentfilters/status", shop, "", true},
		{"create", "", "secrets", shop, "", true},
		{"create", "events.k8s.io", "events", shop, "", true},
		{"get", "", "namespaces", "kube-system", "kube-system", true},
		{"get", "apiextensions.k8s.io", "customresourcedefinitions", "", "tags.vitrine.dev", true},

		{"update", "vitrine.dev", "contentfilters", shop, "", false},
		{"delete", "vitrine.dev", "contentfilters", shop, "", false},
		{"delete", "", "secrets", shop, "", false},
		{"list", "", "namespaces", "", "", false},
		{"list", "", "configmaps", shop, "", false},
		{"create", "", "pods", system, "", false},
		{"get", "", "nodes", "", "", false},
		{"patch", "apiextensions.k8s.io", "customresourcedefinitions", "", "", false},
		{"bind", "rbac.authorization.k8s.io", "clusterroles", "", "", false},
	})
}

// people holds the roles that are added to the cluster's own.
func (w *world) people(ctx context.Context) error {
	for role, grants := range map[string][]grant{
		"view": {
			{"list", "vitrine.dev", "contentfilters", shop, "", true},
			{"list", "vitrine.dev", "accesstokens", shop, "", true},
			{"create", "vitrine.dev", "contentfilters", shop, "", false},
		},
		"edit": {
			{"list", "vitrine.dev", "properties", shop, "", true},
			{"create", "vitrine.dev", "contentfilters", shop, "", true},
			{"delete", "vitrine.dev", "tags", shop, "", true},
			{"create", "vitrine.dev", "accesstokens", shop, "", false},
			{"update", "vitrine.dev", "properties", shop, "", false},
		},
		"admin": {
			{"create", "vitrine.dev", "activateunits", shop, "", true},
			{"create", "vitrine.dev", "accesstokens", shop, "", true},
			{"update", "vitrine.dev", "properties", shop, "", true},
			{"create", "vitrine.dev", "contentfilters", system, "", false},
		},
	} {
		who := role + "@shop.example"
		b := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "e2e-" + role, Namespace: shop},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who}},
		}
		if _, err := w.typed.RbacV1().RoleBindings(shop).Create(ctx, b, metav1.CreateOptions{}); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		if err := eventually(ctx, prompt, func() error { return w.grants(ctx, who, nil, grants) }); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) rollOut(ctx context.Context) error {
	before, err := w.pod(ctx)
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"e2e.vitrine.dev/restarted-after":%q}}}}}`, before.Name)
	if _, err := w.typed.AppsV1().Deployments(system).Patch(ctx, "vitrine", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return err
	}
	return w.replaced(ctx, before)
}

func (w *world) killPod(ctx context.Context) error {
	before, err := w.pod(ctx)
	if err != nil {
		return err
	}
	now := int64(0) // no time to drain: the kubelet kills it
	if err := w.typed.CoreV1().Pods(system).Delete(ctx, before.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		return err
	}
	return w.replaced(ctx, before)
}

// replaced waits for another pod than before, and holds that it serves the same from the same volume.
func (w *world) replaced(ctx context.Context, before *corev1.Pod) error {
	volume, err := w.object(ctx, "v1", "PersistentVolumeClaim", system, "vitrine")
	if err != nil {
		return err
	}
	err = eventually(ctx, patience, func() error {
		pod, err := w.rolledOut(ctx)
		if err == nil && pod.UID == before.UID {
			err = fmt.Errorf("the pod %s is still there", pod.Name)
		}
		return err
	})
	if err != nil {
		return err
	}
	is, err := w.object(ctx, "v1", "PersistentVolumeClaim", system, "vitrine")
	if err != nil {
		return err
	}
	if is.GetUID() != volume.GetUID() {
		return errors.New("the claim is another one")
	}
	return w.readFilter(ctx)
}

// crds are the names of the CustomResourceDefinitions.
func crds() []string {
	return []string{"accesstokens.vitrine.dev", "activateunits.vitrine.dev", "contentfilters.vitrine.dev", "properties.vitrine.dev", "tags.vitrine.dev"}
}

func (w *world) removeCRDs(ctx context.Context) error {
	for _, name := range crds() {
		if err := w.remove(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", name); err != nil {
			return err
		}
	}
	return nil
}

// outlived holds that the operator does not die of the loss of its kinds, and takes them up again.
func (w *world) outlived(ctx context.Context) error {
	before, err := w.pod(ctx)
	if err != nil {
		return err
	}
	alive, err := w.page(ctx, 8081, "/healthz")
	if err != nil {
		return err
	}
	if alive.status != http.StatusOK {
		return fmt.Errorf("/healthz: status %d: %s", alive.status, alive.body)
	}
	// The declarations return with their kinds, to an operator that has not been started anew.
	objects, err := w.kustomization("default")
	if err != nil {
		return err
	}
	if err := w.apply(ctx, objects...); err != nil {
		return err
	}
	if err := w.applySamples(ctx); err != nil {
		return err
	}
	if err := w.readFilter(ctx); err != nil {
		return err
	}
	after, err := w.pod(ctx)
	if err != nil {
		return err
	}
	if after.UID != before.UID || after.Status.ContainerStatuses[0].RestartCount != before.Status.ContainerStatuses[0].RestartCount {
		return fmt.Errorf("the pod is another one, or began again %d times", after.Status.ContainerStatuses[0].RestartCount)
	}
	return w.removeCRDs(ctx)
}

// removeAll removes what config/default and the samples brought.
func (w *world) removeAll(ctx context.Context) error {
	for _, name := range []string{shop, system} {
		if err := w.remove(ctx, "v1", "Namespace", name); err != nil {
			return err
		}
	}
	return w.removeRoles(ctx)
}

func (w *world) removeRoles(ctx context.Context) error {
	for _, name := range []string{"vitrine", "vitrine-view", "vitrine-edit", "vitrine-admin"} {
		if err := w.remove(ctx, rbacv1.SchemeGroupVersion.String(), "ClusterRole", name); err != nil {
			return err
		}
	}
	return w.remove(ctx, rbacv1.SchemeGroupVersion.String(), "ClusterRoleBinding", "vitrine")
}
