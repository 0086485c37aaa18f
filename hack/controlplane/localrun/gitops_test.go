package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
	"github.com/vitrine-dev/vitrine/hack/docblocks"
)

// gitopsPage is the page whose manifests the walks apply.
const gitopsPage = "docs/gitops.md"

// whyPrefix is the prefix of the page's command that shows why objects are not ready.
const whyPrefix = "kubectl get vitrine -n shop -o custom-columns="

// gitops is a walk that rolls out content to a control plane and a server, with GitOps tools and the manifests of the page.
type gitops struct {
	*stack
	page    string
	content repository        // the team's repository: content/ for the namespace shop, bulk/ for the large roll-out
	readers map[string]caller // callers with a READ-WRITE token, by namespace
	tools   process.Group     // the running programs of the GitOps tool
}

var _ = Describe("GitOps", Label("gitops"), Ordered, func() {
	w := &gitops{readers: map[string]caller{}}

	BeforeAll(func(ctx SpecContext) {
		for program, reason := range map[string]string{
			"git":          "git is not installed",
			"redis-server": "redis-server is not installed, which Argo CD needs (on Debian: apt-get install redis-server)",
		} {
			_, err := exec.LookPath(program)
			Expect(err).NotTo(HaveOccurred(), reason)
		}
		w.stack = newStack()
		text, err := os.ReadFile(filepath.Join(w.root, gitopsPage))
		Expect(err).NotTo(HaveOccurred())
		w.page = string(text)
		w.content = newRepository(ctx, filepath.Join(w.state, "content"))
		Expect(w.buildServer(ctx)).To(Succeed())
		Expect(w.chooseURL(ctx)).To(Succeed())
		DeferCleanup(func() { w.Stop() })
		GinkgoT().Setenv("KUBECONFIG", "") // so that startPlane starts a control plane for the walk
		Expect(w.startPlane(ctx)).To(Succeed())
		w.startControllers(ctx)
		for _, role := range []string{"view", "edit", "admin"} {
			w.do(ctx, "apply", "-f", filepath.Join(w.root, "config", "rbac", role+".yaml"))
		}
		w.do(ctx, "create", "namespace", bulkNamespace)
	})

	Describe("Flux", func() { fluxSpecs(&fluxWalk{gitops: w}) })
	Describe("Argo CD", func() { argoSpecs(&argoWalk{gitops: w}) })
})

// startControllers starts the two controllers that the tools need: the garbage collector, because Argo CD deletes in the
// foreground, and the role aggregation, because Flux acts as an account with the role admin.
func (w *gitops) startControllers(ctx context.Context) {
	GinkgoHelper()
	built := w.built(assets.Kubernetes, assets.ControllerManager)
	w.start(&w.Group, assets.ControllerManager, built.Path(assets.ControllerManager), nil, "--kubeconfig="+w.cluster.kubeconfig, "--leader-elect=false",
		"--controllers=garbage-collector-controller,clusterrole-aggregation-controller", "--secure-port=0")
}

// start starts a program and adds it to a group.
func (w *gitops) start(group *process.Group, name, path string, env []string, args ...string) {
	GinkgoHelper()
	p, err := process.Start(process.Spec{
		Name: name, Path: path, Args: args, Env: append(env, w.cluster.environment()...), Log: filepath.Join(w.state, "logs", name+".log"),
	})
	Expect(err).NotTo(HaveOccurred())
	group.Add(p)
}

// await waits until check passes. It fails immediately if a program has ended.
func (w *gitops) await(ctx context.Context, check func(g Gomega)) {
	GinkgoHelper()
	w.stack.await(ctx, func(g Gomega) {
		if err := w.tools.Err(); err != nil {
			StopTrying(err.Error()).Now()
		}
		check(g)
	})
}

// built returns the place of a program that make gitops has built before the walk.
func (w *gitops) built(set assets.Set, program string) assets.Built {
	GinkgoHelper()
	built, err := set.Find(w.root)
	Expect(err).NotTo(HaveOccurred())
	Expect(built.Has(program)).To(BeTrue(), "%s is not in %s: run make gitops, which builds it", program, built.Dir)
	return built
}

// startTool applies the CRDs of a tool and creates its namespace. After the specs of the tool, the programs
// in w.tools are stopped.
func (w *gitops) startTool(ctx context.Context, tool assets.Set, crds, namespace string) (program string) {
	GinkgoHelper()
	built := w.built(tool, tool.Name)
	By(tool.Name + " " + built.Version)
	DeferCleanup(func() { w.tools.Stop() })
	w.do(ctx, "apply", "--server-side", "-f", built.CRDs())
	if crds != "" {
		w.apply(ctx, crds)
	}
	w.await(ctx, func(g Gomega) { g.Expect(w.cluster.established(ctx)).To(Succeed()) })
	w.do(ctx, "create", "namespace", namespace)
	return built.Path(tool.Name)
}

// manifest returns the first manifest with a kind and a name on a page. replacements are pairs of old and new text.
func manifest(page, kind, name string, replacements ...string) (string, error) {
	for _, text := range docblocks.YAML(page) {
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(text), &object); err != nil || object.Kind != kind || object.Name != name {
			continue
		}
		for i := 0; i < len(replacements); i += 2 {
			if !strings.Contains(text, replacements[i]) {
				return "", fmt.Errorf("%s: %s %s has no %q", gitopsPage, kind, name, replacements[i])
			}
			text = strings.ReplaceAll(text, replacements[i], replacements[i+1])
		}
		return text, nil
	}
	return "", fmt.Errorf("%s shows no %s %s", gitopsPage, kind, name)
}

// show applies a manifest of the page.
func (w *gitops) show(ctx context.Context, kind, name string, replacements ...string) {
	GinkgoHelper()
	text, err := manifest(w.page, kind, name, replacements...)
	Expect(err).NotTo(HaveOccurred())
	w.apply(ctx, text)
}

// Files of the content.
const (
	wallFile  = "content/wall.yaml"
	extraFile = "content/extra.yaml"
)

const (
	wallQuery  = "approval_status:app AND love"
	property   = "apiVersion: vitrine.dev/v1alpha1\nkind: Property\nmetadata: {name: default}\nspec: {displayName: Shop}\n"
	readWriter = "apiVersion: vitrine.dev/v1alpha1\nkind: AccessToken\nmetadata: {name: backoffice}\nspec: {class: ReadWrite}\n"
)

// explicit contains optional members. The tools revert a change to such a member only if the manifest sets it.
const explicit = "  readAccess: ReadWrite\n  suspend: false\n"

// filter returns the manifest of a ContentFilter.
func filter(name, query, rest string) string {
	return fmt.Sprintf("apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: %s}\nspec:\n  query: '%s'\n%s", name, query, rest)
}

// shopContent returns the first commit of the content. The filter wall sets the explicit members, and the filter plain omits them.
func shopContent() map[string]string {
	return map[string]string{
		"content/property.yaml": property,
		"content/token.yaml":    readWriter,
		wallFile:                filter("wall", wallQuery, explicit),
		"content/plain.yaml":    filter("plain", "approval_status:app", ""),
		extraFile:               filter("extra", "approval_status:app AND extra", ""),
	}
}

// spec returns the spec of a filter of the namespace shop.
func (w *gitops) spec(ctx context.Context, g Gomega, name string) map[string]any {
	GinkgoHelper()
	var object struct{ Spec map[string]any }
	g.Expect(w.cluster.get(ctx, &object, "-n", namespace, "contentfilter", name)).To(Succeed())
	return object.Spec
}

// wallRight expects that the query and the members in explicit have, in the filter wall, the values of the first commit.
func (w *gitops) wallRight(ctx context.Context, g Gomega) {
	GinkgoHelper()
	g.Expect(w.spec(ctx, g, "wall")).To(And(
		HaveKeyWithValue("query", wallQuery), HaveKeyWithValue("readAccess", "ReadWrite"), HaveKeyWithValue("suspend", false)))
}

// drift changes every member that the manifest of the filter wall sets, and two members that the manifest of plain omits.
func (w *gitops) drift(ctx context.Context) {
	GinkgoHelper()
	w.do(ctx, "patch", "-n", namespace, "contentfilter", "wall", "--type=merge",
		`--patch={"spec": {"query": "drifted", "readAccess": "ReadOnly", "suspend": true}}`)
	w.leftOut(ctx)
}

// leftOut sets two members that the manifest of the filter plain omits. args are further arguments of kubectl patch, such as the field
// manager.
func (w *gitops) leftOut(ctx context.Context, args ...string) {
	GinkgoHelper()
	w.do(ctx, append([]string{"patch", "-n", namespace, "contentfilter", "plain", "--type=merge",
		`--patch={"spec": {"readAccess": "ReadOnly", "sortBy": "id:asc"}}`}, args...)...)
}

// readToken reads the token of a namespace into w.readers.
func (w *gitops) readToken(ctx context.Context, from string) {
	w.readers[from] = w.caller(ctx, from, "backoffice")
}

// address returns the URL of a filter of the namespace shop.
func (w *gitops) address(ctx context.Context, name string) string {
	GinkgoHelper()
	url := w.do(ctx, "get", "-n", namespace, "contentfilter", name, "-o", "jsonpath={.status.url}")
	Expect(url).NotTo(BeEmpty())
	return url
}

// answers waits until a request to an address, with the token of a namespace, returns a status.
func (w *gitops) answers(ctx context.Context, from, address string, status int) {
	GinkgoHelper()
	w.await(ctx, func(g Gomega) { w.readers[from].get(ctx, g, address, status) })
}

// served waits until the server serves a filter of the namespace shop.
func (w *gitops) served(ctx context.Context, name string) {
	GinkgoHelper()
	w.answers(ctx, namespace, w.address(ctx, name), http.StatusOK)
}

// objects returns the objects that kubectl get returns for args.
func (w *gitops) objects(ctx context.Context, g Gomega, args ...string) []unstructured.Unstructured {
	GinkgoHelper()
	var list unstructured.UnstructuredList
	g.Expect(w.cluster.get(ctx, &list, args...)).To(Succeed())
	return list.Items
}

// ready expects that objects are ready according to the rules of kstatus.
func ready(objects []unstructured.Unstructured) {
	GinkgoHelper()
	for _, o := range objects {
		result, err := status.Compute(&o)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Status).To(Equal(status.CurrentStatus), "%s %s: %s", o.GetKind(), o.GetName(), result.Message)
	}
}

// nothingLeft waits until a namespace has no Vitrine objects and its token is rejected.
func (w *gitops) nothingLeft(ctx context.Context, from string) {
	GinkgoHelper()
	w.answers(ctx, from, "/v2/content/items?q=*:*", http.StatusForbidden)
	// The server rejects the token after the garbage collector has deleted the token's Secret.
	w.await(ctx, func(g Gomega) { g.Expect(w.objects(ctx, g, "-n", from, "vitrine,secret")).To(BeEmpty()) })
}

// stalled expects that a filter in the namespace shop is stalled, and returns the message of its condition Stalled.
func (w *gitops) stalled(ctx context.Context, name string) string {
	GinkgoHelper()
	message := w.do(ctx, "get", "-n", namespace, "contentfilter", name, "-o", `jsonpath={.status.conditions[?(@.type=="Stalled")].message}`)
	Expect(message).NotTo(BeEmpty())
	return message
}

// command returns the command of a page that begins with prefix, or "".
func command(page, prefix string) string {
	lines := strings.Split(page, "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), prefix) })
	if i < 0 {
		return ""
	}
	return strings.TrimSpace(lines[i])
}

// why runs the page's command that shows why objects are not ready, and expects the reason why a filter is stalled.
func (w *gitops) why(ctx context.Context, name string) {
	GinkgoHelper()
	output, err := w.shell(ctx, fmt.Sprintf("export KUBECONFIG=%s PATH=%s:\"$PATH\"\n%s", process.Quote(w.cluster.kubeconfig),
		process.Quote(filepath.Dir(w.cluster.kubectl)), command(w.page, whyPrefix)))
	Expect(err).NotTo(HaveOccurred())
	Expect(output).To(ContainSubstring(w.stalled(ctx, name)))
}

// TestGitopsPage checks that the page contains each manifest and each text that the walks use, exactly once.
func TestGitopsPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", gitopsPage))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	const url = "https://git.example/shop/content.git"
	for _, m := range [][]string{
		{"Namespace", "shop"},
		{"ServiceAccount", "shop-content"},
		{"RoleBinding", "shop-content"},
		{"GitRepository", "vitrine"},
		{"GitRepository", "shop"},
		{"Kustomization", "vitrine", "path: ./config/default", "path: ./config/crd"},
		{"Kustomization", "shop-content"},
		{"ConfigMap", "argocd-cm"},
		{"ConfigMap", "argocd-notifications-cm"},
		{"AppProject", "shop", url, "file:///content"},
		{"Application", "shop-content", url, "file:///content"},
	} {
		text, err := manifest(page, m[0], m[1], m[2:]...)
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.Count("\n"+text, "\nkind: ") != 1 || len(m) > 2 && (strings.Contains(text, m[2]) || !strings.Contains(text, m[3])) {
			t.Errorf("%s %s:\n%s", m[0], m[1], text)
		}
	}
	if _, err := manifest(page, "Kustomization", "shop-content", "path: ./nowhere", ""); err == nil {
		t.Error("manifest replaces a text that the page does not contain")
	}
	if _, err := manifest(page, "Kustomization", "shop"); err == nil {
		t.Error("manifest finds a manifest that the page does not contain")
	}
	if command(page, whyPrefix) == "" {
		t.Errorf("no command begins with %q", whyPrefix)
	}
}
