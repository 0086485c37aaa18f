package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
)

const fluxNamespace = "flux-system"

// Kustomizations of the walk.
const (
	fluxContent = "shop-content"
	fluxBulk    = "bulk"
)

// kustomization is the part of a Flux Kustomization that the walk uses.
type kustomization struct {
	Metadata metav1.ObjectMeta
	Status   struct {
		ObservedGeneration     int64
		LastAppliedRevision    string
		LastAttemptedRevision  string
		LastHandledReconcileAt string
		Conditions             []metav1.Condition
	}
}

// fluxWalk is the part of the walk that uses Flux.
type fluxWalk struct {
	*gitops
	sources  *sources
	revision string // the last published revision of the content
	pokes    int
}

// fluxSpecs tests Flux's kustomize-controller with a fake source-controller. After these specs, no program of Flux runs, and the cluster
// contains no content.
func fluxSpecs(f *fluxWalk) {
	BeforeAll(func(ctx SpecContext) {
		program := f.startTool(ctx, assets.KustomizeController, sourceCRDs(), fluxNamespace)
		f.sources = startSources(f.stack)
		f.start(&f.tools, "kustomize-controller", program, []string{"RUNTIME_NAMESPACE=" + fluxNamespace, "TMPDIR=" + f.state},
			"--enable-leader-election=false", "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0",
			"--requeue-dependency=2s") // by default, a Kustomization checks its dependencies only every 30 s
	})

	It("dependsOn: the content waits for the CRDs, and is served once they are there", func(ctx SpecContext) {
		operator := newRepository(ctx, filepath.Join(f.state, "operator"))
		Expect(os.CopyFS(filepath.Join(operator.dir, "config"), os.DirFS(filepath.Join(f.root, "config")))).To(Succeed())
		operator.commit(ctx, "the operator", nil)
		f.show(ctx, "Namespace", namespace)
		f.show(ctx, "ServiceAccount", "shop-content")
		f.show(ctx, "RoleBinding", "shop-content")
		f.show(ctx, "GitRepository", "shop")
		f.show(ctx, "Kustomization", fluxContent)
		f.push(ctx, "the content", shopContent())
		f.await(ctx, func(g Gomega) {
			_, ready := f.get(ctx, g, fluxContent)
			g.Expect(ready).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "DependencyNotReady")))
		})
		f.show(ctx, "GitRepository", "vitrine")
		// Apply only the CRDs of the operator's manifests, because the cluster has no node for the Deployment.
		f.show(ctx, "Kustomization", "vitrine", "path: ./config/default", "path: ./config/crd")
		f.ready(ctx, "vitrine", f.sources.publish(ctx, operator, "vitrine", "VERSION"))
		Expect(f.startServer(ctx)).To(Succeed())
		f.ready(ctx, fluxContent, f.revision)
		f.readToken(ctx, namespace)
		f.served(ctx, "wall")
	})

	It("health: the Kustomization is ready when every object is", func(ctx SpecContext) {
		found := f.objects(ctx, Default, "-n", namespace, "vitrine")
		Expect(found).To(HaveLen(len(shopContent())))
		ready(found)
	})

	It("a broken query: the Kustomization is not ready and names the object, the object shows why, the last version answers", func(ctx SpecContext) {
		f.push(ctx, "break a query", map[string]string{wallFile: filter("wall", "love AND (", explicit)})
		f.fails(ctx, "ContentFilter/shop/wall")
		f.why(ctx, "wall")
		f.served(ctx, "wall")
	})

	It("its fix: ready", func(ctx SpecContext) {
		f.push(ctx, "fix the query", map[string]string{wallFile: shopContent()[wallFile]})
		f.ready(ctx, fluxContent, f.revision)
	})

	It("a spec that the API server refuses: not ready, with its message", func(ctx SpecContext) {
		f.push(ctx, "a filter without a query", map[string]string{"content/refused.yaml": filter("refused", "", "")})
		f.fails(ctx, "ContentFilter/shop/refused", "spec.query")
	})

	It("its fix and a new filter: ready, and served", func(ctx SpecContext) {
		f.push(ctx, "a query, and a new filter", map[string]string{
			"content/refused.yaml": filter("refused", "approval_status:app AND again", ""), "content/new.yaml": filter("new", "approval_status:app AND new", ""),
		})
		f.ready(ctx, fluxContent, f.revision)
		f.served(ctx, "new")
	})

	It("drift: members that the manifest holds are reverted, those that it leaves out are removed", func(ctx SpecContext) {
		f.drift(ctx)
		f.poke(ctx, fluxContent)
		f.wallRight(ctx, Default)
		Expect(f.spec(ctx, Default, "plain")).NotTo(HaveKey("readAccess"), "what kubectl added is still there")
		f.ready(ctx, fluxContent, f.revision)
	})

	It("drift that stays: members that the manifest leaves out, set by another field manager", func(ctx SpecContext) {
		f.leftOut(ctx, "--field-manager=alice")
		f.poke(ctx, fluxContent)
		f.ready(ctx, fluxContent, f.revision)
		Expect(f.spec(ctx, Default, "plain")).To(HaveKeyWithValue("readAccess", "ReadOnly"), "correct the section on drift of %s", gitopsPage)
		f.do(ctx, "patch", "-n", namespace, "contentfilter", "plain", "--type=merge", `--patch={"spec": {"readAccess": null, "sortBy": null}}`)
	})

	It("postBuild.substitute: a variable in a query fails; the annotation keeps the query whole", func(ctx SpecContext) {
		const file, query = "content/dollar.yaml", `approval_status:app AND text:"${USER} $$5"`
		f.do(ctx, "patch", "-n", fluxNamespace, "kustomization", fluxContent, "--type=merge",
			`--patch={"spec": {"postBuild": {"substitute": {"environment": "test"}}}}`)
		f.push(ctx, "a query with a variable", map[string]string{file: filter("dollar", query, "")})
		f.fails(ctx, "variable not set (strict mode)")
		f.push(ctx, "keep the query as it is", map[string]string{file: strings.Replace(filter("dollar", query, ""), "{name: dollar}",
			"{name: dollar, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}", 1)})
		f.ready(ctx, fluxContent, f.revision)
		Expect(f.spec(ctx, Default, "dollar")).To(HaveKeyWithValue("query", query))
	})

	It("prune: a filter that leaves Git answers 404", func(ctx SpecContext) {
		url := f.address(ctx, "extra")
		f.push(ctx, "remove a filter", map[string]string{extraFile: ""})
		f.ready(ctx, fluxContent, f.revision)
		f.answers(ctx, namespace, url, http.StatusNotFound)
	})

	It("rolls out "+strconv.Itoa(bulk)+" filters and prunes them", func(ctx SpecContext) {
		f.push(ctx, "the large content", bulkContent())
		f.rollOutBulk(ctx, func() {
			f.apply(ctx, fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: %s}
spec:
  interval: 1h
  timeout: 5m
  sourceRef: {kind: GitRepository, name: shop}
  path: ./bulk
  targetNamespace: %s
  prune: true
  wait: true
`, fluxBulk, fluxNamespace, bulkNamespace))
			f.ready(ctx, fluxBulk, f.revision)
		}, func() { f.do(ctx, "delete", "-n", fluxNamespace, "kustomization", fluxBulk, "--timeout=5m") })
	})

	It("the Kustomization is deleted: nothing is left, the token is refused", func(ctx SpecContext) {
		f.do(ctx, "delete", "-n", fluxNamespace, "kustomization", fluxContent, "--timeout=2m")
		// The deletionPolicy of the operator's Kustomization is Orphan: the CRDs stay.
		f.do(ctx, "delete", "-n", fluxNamespace, "kustomization", "vitrine", "--timeout=2m")
		f.nothingLeft(ctx, namespace)
		Expect(f.Err()).To(Succeed())
		Expect(f.tools.Err()).To(Succeed())
	})
}

// push commits and publishes the content.
func (f *fluxWalk) push(ctx context.Context, message string, files map[string]string) {
	GinkgoHelper()
	f.content.commit(ctx, message, files)
	f.revision = f.sources.publish(ctx, f.content, "shop", "main")
}

// get returns a Kustomization and its Ready condition.
func (f *fluxWalk) get(ctx context.Context, g Gomega, name string) (k kustomization, ready metav1.Condition) {
	GinkgoHelper()
	g.Expect(f.cluster.get(ctx, &k, "-n", fluxNamespace, "kustomization", name)).To(Succeed())
	if c := meta.FindStatusCondition(k.Status.Conditions, "Ready"); c != nil {
		ready = *c
	}
	return k, ready
}

// ready waits until a Kustomization has applied a revision and is ready.
func (f *fluxWalk) ready(ctx context.Context, name, revision string) {
	GinkgoHelper()
	f.await(ctx, func(g Gomega) {
		k, ready := f.get(ctx, g, name)
		g.Expect(k.Status.ObservedGeneration).To(Equal(k.Metadata.Generation))
		g.Expect(k.Status.LastAppliedRevision).To(Equal(revision), "%s: %s", ready.Status, ready.Message)
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
	})
}

// fails waits until the Kustomization of the content has tried to apply the last revision and is not ready. The message of its condition
// Ready must contain each of the parts.
func (f *fluxWalk) fails(ctx context.Context, parts ...string) {
	GinkgoHelper()
	f.await(ctx, func(g Gomega) {
		k, ready := f.get(ctx, g, fluxContent)
		g.Expect(k.Status.LastAttemptedRevision).To(Equal(f.revision))
		g.Expect(ready.Status).To(Equal(metav1.ConditionFalse), ready.Message)
		for _, part := range parts {
			g.Expect(ready.Message).To(ContainSubstring(part))
		}
	})
}

// poke makes Flux reconcile a Kustomization, as `flux reconcile` does, and waits for the result.
func (f *fluxWalk) poke(ctx context.Context, name string) {
	GinkgoHelper()
	f.pokes++
	at := strconv.Itoa(f.pokes)
	f.do(ctx, "annotate", "-n", fluxNamespace, "kustomization", name, "--overwrite", "reconcile.fluxcd.io/requestedAt="+at)
	f.await(ctx, func(g Gomega) {
		k, ready := f.get(ctx, g, name)
		g.Expect(k.Status.LastHandledReconcileAt).To(Equal(at))
		g.Expect(ready.Status).NotTo(Equal(metav1.ConditionUnknown), ready.Message)
	})
}

// sourceCRDs returns the CRDs of source-controller that kustomize-controller watches, without their schemas.
func sourceCRDs() string {
	var text strings.Builder
	for plural, kind := range map[string]string{"gitrepositories": "GitRepository", "ocirepositories": "OCIRepository", "buckets": "Bucket"} {
		fmt.Fprintf(&text, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.source.toolkit.fluxcd.io}
spec:
  group: source.toolkit.fluxcd.io
  names: {plural: %[1]s, singular: %[2]s, kind: %[3]s, listKind: %[3]sList}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
      subresources: {status: {}}
---`, plural, strings.ToLower(kind), kind)
	}
	return text.String()
}
