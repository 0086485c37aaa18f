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

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
	"github.com/vitrine-dev/vitrine/hack/loopback"
)

const argoNamespace = "argocd"

// Applications of the walk.
const (
	argoContent = "shop-content"
	argoBulk    = "bulk"
)

// application is the part of an Argo CD Application that the walk uses.
type application struct {
	Status struct {
		Sync           struct{ Status, Revision string }
		Health         struct{ Status string }
		OperationState struct {
			Phase, Message string
			RetryCount     int
		}
		Resources []struct {
			Name   string
			Health struct{ Status, Message string }
		}
	}
}

// argoWalk is the part of the walk that uses Argo CD.
type argoWalk struct {
	*gitops
	program  string // the program of Argo CD
	url      string // URL of the content
	revision string // the last commit
}

// argoSpecs tests Argo CD's application-controller and repo-server, without the API server and the UI of Argo CD.
func argoSpecs(a *argoWalk) {
	BeforeAll(func(ctx SpecContext) {
		a.program = a.startTool(ctx, assets.ArgoCD, "", argoNamespace)
		a.url = "file://" + a.content.dir
		a.show(ctx, "ConfigMap", "argocd-cm")
		a.apply(ctx, `
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: argocd, labels: {app.kubernetes.io/name: argocd-secret, app.kubernetes.io/part-of: argocd}}
stringData: {server.secretkey: walk}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec: {sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}]}
`)
		a.startPrograms()
	})

	It("the first sync: Synced and Healthy, and served", func(ctx SpecContext) {
		// The specs of Flux ran before. They have left other files in the repository, but no objects in the namespace.
		files := shopContent()
		files["content/dollar.yaml"], files["content/new.yaml"], files["content/refused.yaml"] = "", "", ""
		a.commit(ctx, "the content for Argo CD", files)
		const written = "https://git.example/shop/content.git"
		a.show(ctx, "AppProject", "shop", written, a.url)
		a.show(ctx, "Application", argoContent, written, a.url)
		a.healthy(ctx, argoContent)
		a.readToken(ctx, namespace)
		a.served(ctx, "wall")
	})

	It("a broken query: Degraded with the object's message, the last version answers", func(ctx SpecContext) {
		a.push(ctx, "break a query", map[string]string{wallFile: filter("wall", "love AND (", explicit)})
		a.await(ctx, func(g Gomega) {
			app := a.get(ctx, g, argoContent)
			g.Expect(app.Status.Health.Status).To(Equal("Degraded"))
			message := a.do(ctx, "get", "-n", namespace, "contentfilter", "wall", "-o", `jsonpath={.status.conditions[?(@.type=="Stalled")].message}`)
			g.Expect(message).NotTo(BeEmpty())
			g.Expect(app.Status.Resources).To(ContainElement(And(
				HaveField("Name", "wall"), HaveField("Health.Status", "Degraded"), HaveField("Health.Message", message))))
		})
		a.served(ctx, "wall")
	})

	It("its fix: Healthy", func(ctx SpecContext) {
		a.push(ctx, "fix the query", map[string]string{wallFile: shopContent()[wallFile]})
		a.healthy(ctx, argoContent)
	})

	It("a commit whose sync fails: the sync is tried again, and the notification is triggered", func(ctx SpecContext) {
		// The AppProject does not allow this kind.
		a.push(ctx, "a namespace", map[string]string{"content/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"})
		a.await(ctx, func(g Gomega) {
			operation := a.get(ctx, g, argoContent).Status.OperationState
			g.Expect(operation.Phase).To(Equal("Running"))
			g.Expect(operation.RetryCount).To(BeNumerically(">", 0))
		})
		a.trigger(ctx, "on-sync-retried", "true")
		a.trigger(ctx, "on-content-degraded", "false")
	})

	It("its fix and a new filter: synced by the next try, and served", func(ctx SpecContext) {
		a.push(ctx, "no namespace, and a new filter", map[string]string{
			"content/namespace.yaml": "", "content/new.yaml": filter("new", "approval_status:app AND new", ""),
		})
		a.healthy(ctx, argoContent)
		a.served(ctx, "new")
	})

	It("drift: members that the manifest holds are reverted", func(ctx SpecContext) {
		a.drift(ctx)
		a.await(ctx, func(g Gomega) { a.wallRight(ctx, g) })
	})

	It("drift that stays: members that the manifest leaves out; the Application is Synced anyway", func(ctx SpecContext) {
		// The previous spec has set members of the filter plain that its manifest omits.
		a.refresh(ctx, argoContent, "hard")
		a.await(ctx, func(g Gomega) { // Argo CD removes the annotation after the refresh
			g.Expect(a.do(ctx, "get", "-n", argoNamespace, "application", argoContent, "-o", "jsonpath={.metadata.annotations}")).
				NotTo(ContainSubstring("argocd.argoproj.io/refresh"))
		})
		a.healthy(ctx, argoContent)
		Expect(a.spec(ctx, Default, "plain")).To(HaveKeyWithValue("readAccess", "ReadOnly"), "correct the section on drift of %s", gitopsPage)
	})

	It("prune: a filter that leaves Git answers 404", func(ctx SpecContext) {
		url := a.address(ctx, "extra")
		a.push(ctx, "remove a filter", map[string]string{extraFile: ""})
		a.healthy(ctx, argoContent)
		a.answers(ctx, namespace, url, http.StatusNotFound)
	})

	It("rolls out "+strconv.Itoa(bulk)+" filters and prunes them", func(ctx SpecContext) {
		a.rollOutBulk(ctx, func() {
			a.apply(ctx, fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: default
  source: {repoURL: %q, targetRevision: main, path: bulk}
  destination: {server: https://kubernetes.default.svc, namespace: %s}
  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [ServerSideApply=true]}
`, argoBulk, argoNamespace, a.url, bulkNamespace))
			a.healthy(ctx, argoBulk)
		}, func() { a.do(ctx, "delete", "-n", argoNamespace, "application", argoBulk, "--timeout=5m") })
	})

	It("the Application is deleted: nothing is left, the token is refused", func(ctx SpecContext) {
		a.do(ctx, "delete", "-n", argoNamespace, "application", argoContent, "--timeout=2m")
		a.nothingLeft(ctx, namespace)
		Expect(a.Err()).To(Succeed())
		Expect(a.tools.Err()).To(Succeed())
	})
}

// startPrograms starts redis, repo-server and application-controller.
func (a *argoWalk) startPrograms() {
	GinkgoHelper()
	free, err := loopback.Free(4)
	Expect(err).NotTo(HaveOccurred())
	redis, repo, repoMetrics, metrics := free[0], free[1], free[2], free[3]
	port := func(address string) string { return address[strings.LastIndex(address, ":")+1:] }
	dir := filepath.Join(a.state, "argo")
	for _, name := range []string{"tls", "ssh", "tmp"} {
		Expect(os.MkdirAll(filepath.Join(dir, name), 0o700)).To(Succeed())
	}
	const password = "walk"
	a.start(&a.tools, "redis-server", "redis-server", nil, "--bind", "127.0.0.1", "--port", port(redis), "--requirepass", password, "--save", "", "--dir", dir)
	env := func(program string) []string {
		return []string{
			"ARGOCD_BINARY_NAME=" + program, "REDIS_PASSWORD=" + password, "ARGOCD_GPG_ENABLED=false", "ARGOCD_FAKE_IN_CLUSTER=true",
			"ARGOCD_TLS_DATA_PATH=" + filepath.Join(dir, "tls"), "ARGOCD_SSH_DATA_PATH=" + filepath.Join(dir, "ssh"),
			"ARGOCD_ASK_PASS_SOCK=" + filepath.Join(dir, "askpass.sock"), "ARGOCD_PLUGINSOCKFILEPATH=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"),
		}
	}
	a.start(&a.tools, "argocd-repo-server", a.program, env("argocd-repo-server"),
		"--redis="+redis, "--disable-tls",
		"--address=127.0.0.1", "--port="+port(repo),
		"--metrics-address=127.0.0.1", "--metrics-port="+port(repoMetrics))
	a.start(&a.tools, "argocd-application-controller", a.program, env("argocd-application-controller"),
		"--kubeconfig="+a.cluster.kubeconfig, "--namespace="+argoNamespace, "--redis="+redis, "--repo-server="+repo, "--repo-server-plaintext",
		"--metrics-port="+port(metrics),
		"--persist-resource-health") // writes each object's health into the status of the Application, where the walk reads it
}

// commit writes files and commits the content.
func (a *argoWalk) commit(ctx context.Context, message string, files map[string]string) {
	GinkgoHelper()
	a.content.commit(ctx, message, files)
	a.revision = a.content.head(ctx)
}

// push commits the content and refreshes the Application. With a real Git server, a webhook would request the refresh.
func (a *argoWalk) push(ctx context.Context, message string, files map[string]string) {
	GinkgoHelper()
	a.commit(ctx, message, files)
	a.refresh(ctx, argoContent, "normal")
}

func (a *argoWalk) refresh(ctx context.Context, name, how string) {
	GinkgoHelper()
	a.do(ctx, "annotate", "-n", argoNamespace, "application", name, "--overwrite", "argocd.argoproj.io/refresh="+how)
}

// get returns an Application.
func (a *argoWalk) get(ctx context.Context, g Gomega, name string) (app application) {
	GinkgoHelper()
	g.Expect(a.cluster.get(ctx, &app, "-n", argoNamespace, "application", name)).To(Succeed())
	return app
}

// healthy waits until an Application has synced the last commit and all of its objects are healthy.
func (a *argoWalk) healthy(ctx context.Context, name string) {
	GinkgoHelper()
	a.await(ctx, func(g Gomega) {
		got := a.get(ctx, g, name).Status
		g.Expect(got.Sync.Status).To(Equal("Synced"), "%+v", got.OperationState)
		g.Expect(got.Sync.Revision).To(Equal(a.revision))
		g.Expect(got.Health.Status).To(Equal("Healthy"), "%+v", got.Resources)
		g.Expect(got.OperationState.Phase).To(Equal("Succeeded"), "%+v", got.OperationState)
	})
}

// trigger checks the result of a notification trigger of the page for the Application in its current state. It evaluates the trigger with
// Argo CD's own command.
func (a *argoWalk) trigger(ctx context.Context, name, want string) {
	GinkgoHelper()
	configuration, err := manifest(a.page, "ConfigMap", "argocd-notifications-cm")
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(a.state, "argo", "notifications.yaml")
	Expect(writePrivate(file, configuration)).To(Succeed())
	output, err := a.shell(ctx, fmt.Sprintf("export KUBECONFIG=%s ARGOCD_BINARY_NAME=argocd\n%s admin notifications trigger run %s %s -n %s --config-map %s --secret :empty",
		process.Quote(a.cluster.kubeconfig), process.Quote(a.program), name, argoContent, argoNamespace, process.Quote(file)))
	Expect(err).NotTo(HaveOccurred())
	Expect(strings.TrimSpace(output)).To(MatchRegexp(`\s` + want + `$`))
}
