package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

// Applications of the walk.
const (
	argoContent = "shop-content"
	argoBulk    = "bulk"
)

// application is what the walk looks at of an Argo CD Application.
type application struct {
	Status struct {
		Sync struct {
			Status   string `json:"status"`
			Revision string `json:"revision"`
		} `json:"sync"`
		Health struct {
			Status string `json:"status"`
		} `json:"health"`
		OperationState struct {
			Phase      string `json:"phase"`
			Message    string `json:"message"`
			RetryCount int    `json:"retryCount"`
		} `json:"operationState"`
		Resources []struct {
			Name   string `json:"name"`
			Health struct {
				Status  string `json:"status"`
				Message string `json:"message"`
			} `json:"health"`
		} `json:"resources"`
	} `json:"status"`
}

func (a application) String() string {
	return fmt.Sprintf("%s at %s, %s, operation %s after %d retries: %s", a.Status.Sync.Status, a.Status.Sync.Revision, a.Status.Health.Status,
		a.Status.OperationState.Phase, a.Status.OperationState.RetryCount, a.Status.OperationState.Message)
}

// argoWalk is the part of the walk under Argo CD.
type argoWalk struct {
	*gitopsWalk
	program  string // of Argo CD
	url      string // of the content
	revision string // the last commit
}

// walkArgo walks through Argo CD's application-controller and repo-server, with the manifests of docs/gitops.md.
func (w *gitopsWalk) walkArgo(ctx context.Context, tool assets.Built) error {
	w.say("\nArgo CD: application-controller and repo-server %s", tool.Version)
	a := &argoWalk{gitopsWalk: w, program: tool.Path(assets.ArgoCD.Name), url: "file://" + w.content.dir}
	keep := w.Len()
	if err := a.start(ctx, tool); err != nil {
		return err
	}
	defer w.Stop(keep)
	return w.walk(ctx, []step{
		{"the first sync: Synced and Healthy, and served", a.first},
		{"a broken query: Degraded with the object's message, the last version answers", a.broken},
		{"its fix: Healthy", a.fixed},
		{"a commit whose sync fails: the sync is tried again, and the notification is triggered", a.refused},
		{"its fix and a new filter: synced by the next try, and served", a.refusedFixed},
		{"drift: members that the manifest holds are reverted", a.reverted},
		{"drift that stays: members that the manifest leaves out; the Application is Synced anyway", a.stays},
		{"prune: a filter that leaves Git answers 404", a.prune},
		{strconv.Itoa(bulk) + " filters rolled out and pruned", a.bulk},
		{"the Application is deleted: nothing is left, the token is refused", a.end},
	})
}

// start starts redis, repo-server and application-controller. There is no API server of Argo CD and no UI.
func (a *argoWalk) start(ctx context.Context, tool assets.Built) error {
	if err := a.kubectl(ctx, "apply", "--server-side", "-f", tool.CRDs()); err != nil {
		return err
	}
	if err := a.cluster.established(ctx); err != nil {
		return err
	}
	if err := a.kubectl(ctx, "create", "namespace", argoNamespace); err != nil {
		return err
	}
	if err := a.apply(ctx, "ConfigMap", "argocd-cm"); err != nil {
		return err
	}
	if _, err := a.cluster.run(ctx, `
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: argocd, labels: {app.kubernetes.io/name: argocd-secret, app.kubernetes.io/part-of: argocd}}
stringData: {server.secretkey: walk}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec: {sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}]}
`, "apply", "-f", "-"); err != nil {
		return err
	}
	free, err := freeAddresses(4)
	if err != nil {
		return err
	}
	port := func(address string) string { return strings.TrimPrefix(address, "127.0.0.1:") }
	dir := filepath.Join(a.state, "argo")
	for _, name := range []string{"tls", "ssh", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return fmt.Errorf("make a directory for Argo CD: %w", err)
		}
	}
	redis, repo, repoMetrics, metrics := free[0], free[1], free[2], free[3]
	const password = "walk"
	if err := a.gitopsWalk.start("redis-server", "redis-server", nil,
		"--bind", "127.0.0.1", "--port", port(redis), "--requirepass", password, "--save", "", "--dir", dir); err != nil {
		return err
	}
	env := func(program string) []string {
		return []string{
			"ARGOCD_BINARY_NAME=" + program, "REDIS_PASSWORD=" + password, "ARGOCD_GPG_ENABLED=false", "ARGOCD_FAKE_IN_CLUSTER=true",
			"ARGOCD_TLS_DATA_PATH=" + filepath.Join(dir, "tls"), "ARGOCD_SSH_DATA_PATH=" + filepath.Join(dir, "ssh"),
			"ARGOCD_ASK_PASS_SOCK=" + filepath.Join(dir, "askpass.sock"), "ARGOCD_PLUGINSOCKFILEPATH=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"),
		}
	}
	if err := a.gitopsWalk.start("argocd-repo-server", tool.Path(assets.ArgoCD.Name), env("argocd-repo-server"),
		"--redis="+redis, "--disable-tls",
		"--address=127.0.0.1", "--port="+port(repo),
		"--metrics-address=127.0.0.1", "--metrics-port="+port(repoMetrics)); err != nil {
		return err
	}
	return a.gitopsWalk.start("argocd-application-controller", tool.Path(assets.ArgoCD.Name), env("argocd-application-controller"),
		"--kubeconfig="+a.cluster.kubeconfig, "--namespace="+argoNamespace, "--redis="+redis, "--repo-server="+repo, "--repo-server-plaintext",
		"--metrics-port="+port(metrics),
		"--persist-resource-health") // shows each object's health in the Application's status, where the walk reads it
}

// push commits the content and has an Application refreshed, as a webhook of the Git server does.
func (a *argoWalk) push(ctx context.Context, message string, files map[string]string) error {
	if err := a.content.commit(ctx, message, files); err != nil {
		return err
	}
	var err error
	if a.revision, err = a.content.head(ctx); err != nil {
		return err
	}
	return a.refresh(ctx, argoContent)
}

func (a *argoWalk) refresh(ctx context.Context, name string) error {
	return a.kubectl(ctx, "annotate", "-n", argoNamespace, "application", name, "--overwrite", "argocd.argoproj.io/refresh=normal")
}

// becomes waits until check accepts an Application, whose state is told when it does not.
func (a *argoWalk) becomes(ctx context.Context, name string, check func(application) bool) error {
	return a.await(ctx, 3*time.Minute, func() error {
		var app application
		if err := a.read(ctx, &app, "-n", argoNamespace, "application", name); err != nil {
			return err
		}
		if !check(app) {
			return fmt.Errorf("the Application %s is %s", name, app)
		}
		return nil
	})
}

// healthy waits until an Application has synced the last commit and everything is healthy.
func (a *argoWalk) healthy(ctx context.Context, name string) error {
	return a.becomes(ctx, name, func(app application) bool {
		s := app.Status
		return s.Sync.Status == "Synced" && s.Sync.Revision == a.revision && s.Health.Status == "Healthy" && s.OperationState.Phase == "Succeeded"
	})
}

func (a *argoWalk) first(ctx context.Context) error {
	// Flux's walk left the repository with other files and the namespace without objects.
	files := shopContent()
	files["content/dollar.yaml"], files["content/new.yaml"], files["content/refused.yaml"] = "", "", ""
	if err := a.content.commit(ctx, "the content for Argo CD", files); err != nil {
		return err
	}
	var err error
	if a.revision, err = a.content.head(ctx); err != nil {
		return err
	}
	const written = "https://git.example/shop/content.git"
	for _, m := range []struct{ kind, name string }{{"AppProject", "shop"}, {"Application", argoContent}} {
		if err := a.apply(ctx, m.kind, m.name, written, a.url); err != nil {
			return err
		}
	}
	if err := a.healthy(ctx, argoContent); err != nil {
		return err
	}
	if err := a.readToken(ctx, namespace); err != nil {
		return err
	}
	return a.served(ctx, "wall")
}

func (a *argoWalk) broken(ctx context.Context) error {
	if err := a.push(ctx, "break a query", map[string]string{wallFile: filter("wall", "love AND (", explicit)}); err != nil {
		return err
	}
	var shown string
	if err := a.becomes(ctx, argoContent, func(app application) bool {
		for _, r := range app.Status.Resources {
			if r.Name == "wall" && r.Health.Status == "Degraded" {
				shown = r.Health.Message
			}
		}
		return app.Status.Health.Status == "Degraded" && shown != ""
	}); err != nil {
		return err
	}
	if message, err := a.stalled(ctx, "wall"); err != nil || shown != message {
		return errors.Join(err, fmt.Errorf("the health that Argo CD shows is %q, and the message of the object is %q", shown, message))
	}
	return a.served(ctx, "wall")
}

func (a *argoWalk) fixed(ctx context.Context) error {
	if err := a.push(ctx, "fix the query", map[string]string{wallFile: shopContent()[wallFile]}); err != nil {
		return err
	}
	return a.healthy(ctx, argoContent)
}

// refused pushes a commit that the AppProject does not allow, waits for the first retry, and wants the trigger of the page to
// hold then and the other one not.
func (a *argoWalk) refused(ctx context.Context) error {
	if err := a.push(ctx, "a namespace", map[string]string{"content/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"}); err != nil {
		return err
	}
	if err := a.becomes(ctx, argoContent, func(app application) bool {
		s := app.Status.OperationState
		return s.Phase == "Running" && s.RetryCount > 0
	}); err != nil {
		return err
	}
	for trigger, want := range map[string]string{"on-sync-retried": "true", "on-content-degraded": "false"} {
		if err := a.trigger(ctx, trigger, want); err != nil {
			return err
		}
	}
	return nil
}

// trigger has Argo CD's own command evaluate a trigger of the page for the Application as it is.
func (a *argoWalk) trigger(ctx context.Context, name, want string) error {
	configuration, err := a.page.manifest("ConfigMap", "argocd-notifications-cm")
	if err != nil {
		return err
	}
	file := filepath.Join(a.state, "argo", "notifications.yaml")
	if err := writePrivate(file, configuration); err != nil {
		return err
	}
	said, err := a.shell(ctx, fmt.Sprintf("export KUBECONFIG=%s ARGOCD_BINARY_NAME=argocd\n%s admin notifications trigger run %s %s -n %s --config-map %s --secret :empty",
		process.Quote(a.cluster.kubeconfig), process.Quote(a.program), name, argoContent, argoNamespace, process.Quote(file)))
	if err != nil {
		return err
	}
	if fields := strings.Fields(said); len(fields) == 0 || fields[len(fields)-1] != want {
		return fmt.Errorf("the trigger %s is not %s:\n%s", name, want, said)
	}
	return nil
}

func (a *argoWalk) refusedFixed(ctx context.Context) error {
	if err := a.push(ctx, "no namespace, and a new filter", map[string]string{
		"content/namespace.yaml": "", "content/new.yaml": filter("new", "approval_status:app AND new", ""),
	}); err != nil {
		return err
	}
	if err := a.healthy(ctx, argoContent); err != nil {
		return err
	}
	return a.served(ctx, "new")
}

func (a *argoWalk) reverted(ctx context.Context) error {
	if err := a.drift(ctx); err != nil {
		return err
	}
	return a.await(ctx, 2*time.Minute, func() error { return a.wallRight(ctx) })
}

// stays wants the members that reverted added to the filter plain to be there still, and no difference to show.
func (a *argoWalk) stays(ctx context.Context) error {
	if err := a.kubectl(ctx, "annotate", "-n", argoNamespace, "application", argoContent, "--overwrite", "argocd.argoproj.io/refresh=hard"); err != nil {
		return err
	}
	if err := a.await(ctx, time.Minute, func() error { // the annotation goes once the Application is refreshed
		found, err := a.cluster.run(ctx, "", "get", "-n", argoNamespace, "application", argoContent, "-o", "jsonpath={.metadata.annotations}")
		if err == nil && strings.Contains(found, "argocd.argoproj.io/refresh") {
			err = errors.New("the Application has not been refreshed")
		}
		return err
	}); err != nil {
		return err
	}
	if err := a.healthy(ctx, argoContent); err != nil {
		return err
	}
	spec, err := a.filterSpec(ctx, "plain")
	if err == nil && spec.ReadAccess != "ReadOnly" {
		err = errors.New("what kubectl added was removed by Argo CD: correct the section on drift of docs/gitops.md")
	}
	return err
}

func (a *argoWalk) prune(ctx context.Context) error {
	url, err := a.address(ctx, namespace, "extra")
	if err != nil {
		return err
	}
	if err := a.push(ctx, "remove a filter", map[string]string{extraFile: ""}); err != nil {
		return err
	}
	if err := a.healthy(ctx, argoContent); err != nil {
		return err
	}
	return a.readers[namespace].awaitStatus(ctx, url, http.StatusNotFound)
}

func (a *argoWalk) bulk(ctx context.Context) error {
	rollOut := func(ctx context.Context) error {
		if _, err := a.cluster.run(ctx, fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: default
  source: {repoURL: %q, targetRevision: main, path: bulk}
  destination: {server: https://kubernetes.default.svc, namespace: %s}
  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [ServerSideApply=true]}
`, argoBulk, argoNamespace, a.url, bulkNamespace), "apply", "-f", "-"); err != nil {
			return err
		}
		return a.healthy(ctx, argoBulk)
	}
	prune := func(ctx context.Context) error {
		return a.kubectl(ctx, "delete", "-n", argoNamespace, "application", argoBulk, "--timeout=5m")
	}
	return a.walkBulk(ctx, rollOut, prune)
}

func (a *argoWalk) end(ctx context.Context) error {
	if err := a.kubectl(ctx, "delete", "-n", argoNamespace, "application", argoContent, "--timeout=2m"); err != nil {
		return err
	}
	return a.nothingLeft(ctx)
}
