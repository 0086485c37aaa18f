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
)

// Kustomizations of the walk.
const (
	fluxContent = "shop-content"
	fluxBulk    = "bulk"
)

// kustomization is what the walk looks at of a Flux Kustomization.
type kustomization struct {
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Status struct {
		ObservedGeneration     int64       `json:"observedGeneration"`
		LastAppliedRevision    string      `json:"lastAppliedRevision"`
		LastAttemptedRevision  string      `json:"lastAttemptedRevision"`
		LastHandledReconcileAt string      `json:"lastHandledReconcileAt"`
		Conditions             []condition `json:"conditions"`
	} `json:"status"`
}

// fluxWalk is the part of the walk under Flux.
type fluxWalk struct {
	*gitopsWalk
	revision string // that the content was last published as
	pokes    int
}

// walkFlux walks through Flux's kustomize-controller, with the manifests of docs/gitops.md. At its end nothing of Flux runs and
// nothing of the content is left.
func (w *gitopsWalk) walkFlux(ctx context.Context, tool assets.Built) error {
	w.say("\nFlux: kustomize-controller %s; a stand-in takes the place of source-controller", tool.Version)
	f := &fluxWalk{gitopsWalk: w}
	keep := w.Len()
	if err := f.start(ctx, tool); err != nil {
		return err
	}
	defer w.Stop(keep)
	return w.walk(ctx, []step{
		{"dependsOn: the content waits for the CRDs, and is served once they are there", f.dependsOn},
		{"health: the Kustomization is ready when every object is", f.healthy},
		{"a broken query: the Kustomization is not ready and names the object, the object shows why, the last version answers", f.broken},
		{"its fix: ready", f.fixed},
		{"a spec that the API server refuses: not ready, with its message", f.refused},
		{"its fix and a new filter: ready, and served", f.refusedFixed},
		{"drift: members that the manifest holds are reverted, those that it leaves out are removed", f.reverted},
		{"drift that stays: members that the manifest leaves out, set by another field manager", f.stays},
		{"postBuild.substitute: a variable in a query fails; the annotation keeps the query whole", f.substitute},
		{"prune: a filter that leaves Git answers 404", f.prune},
		{strconv.Itoa(bulk) + " filters rolled out and pruned", f.bulk},
		{"the Kustomization is deleted: nothing is left, the token is refused", f.end},
	})
}

// start starts kustomize-controller and the stand-in for source-controller.
func (f *fluxWalk) start(ctx context.Context, tool assets.Built) error {
	if err := f.kubectl(ctx, "apply", "--server-side", "-f", tool.CRDs()); err != nil {
		return err
	}
	if _, err := f.cluster.run(ctx, sourceCRDs(), "apply", "-f", "-"); err != nil {
		return err
	}
	if err := f.cluster.established(ctx); err != nil {
		return err
	}
	if err := f.kubectl(ctx, "create", "namespace", fluxNamespace); err != nil {
		return err
	}
	var err error
	if f.sources, err = startSources(ctx, f.cluster, filepath.Join(f.state, "artifacts")); err != nil {
		return err
	}
	return f.gitopsWalk.start("kustomize-controller", tool.Path(assets.KustomizeController.Name), []string{"RUNTIME_NAMESPACE=" + fluxNamespace, "TMPDIR=" + f.state},
		"--enable-leader-election=false", "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0",
		"--requeue-dependency=2s") // so that the walk does not wait 30 s for a dependency that is ready
}

// push commits and publishes the content.
func (f *fluxWalk) push(ctx context.Context, message string, files map[string]string) error {
	if err := f.content.commit(ctx, message, files); err != nil {
		return err
	}
	var err error
	f.revision, err = f.sources.publish(ctx, f.content, "shop", "main")
	return err
}

// get returns a Kustomization and its condition Ready.
func (f *fluxWalk) get(ctx context.Context, name string) (k kustomization, ready condition, err error) {
	if err := f.read(ctx, &k, "-n", fluxNamespace, "kustomization", name); err != nil {
		return k, ready, err
	}
	for _, c := range k.Status.Conditions {
		if c.Type == "Ready" {
			ready = c
		}
	}
	return k, ready, nil
}

// ready waits until a Kustomization has applied a revision and is ready.
func (f *fluxWalk) ready(ctx context.Context, name, revision string) error {
	return f.await(ctx, 2*time.Minute, func() error {
		k, ready, err := f.get(ctx, name)
		if err != nil {
			return err
		}
		if k.Status.ObservedGeneration != k.Metadata.Generation || k.Status.LastAppliedRevision != revision || ready.Status != "True" {
			return fmt.Errorf("the Kustomization %s has applied %q, want %s; Ready is %s: %s", name, k.Status.LastAppliedRevision, revision, ready.Status, ready.Message)
		}
		return nil
	})
}

// fails waits until a Kustomization has tried the newest revision and is not ready, for a reason that holds each of parts.
func (f *fluxWalk) fails(ctx context.Context, name string, parts ...string) error {
	return f.await(ctx, 2*time.Minute, func() error {
		k, ready, err := f.get(ctx, name)
		if err != nil {
			return err
		}
		for _, part := range parts {
			if k.Status.LastAttemptedRevision != f.revision || ready.Status != "False" || !strings.Contains(ready.Message, part) {
				return fmt.Errorf("the Kustomization %s has tried %q; Ready is %s, without %q: %s", name, k.Status.LastAttemptedRevision, ready.Status, part, ready.Message)
			}
		}
		return nil
	})
}

// poke has a Kustomization reconciled, as `flux reconcile` does, and waits until it was.
func (f *fluxWalk) poke(ctx context.Context, name string) error {
	f.pokes++
	at := strconv.Itoa(f.pokes)
	if err := f.kubectl(ctx, "annotate", "-n", fluxNamespace, "kustomization", name, "--overwrite", "reconcile.fluxcd.io/requestedAt="+at); err != nil {
		return err
	}
	return f.await(ctx, 2*time.Minute, func() error {
		k, ready, err := f.get(ctx, name)
		if err == nil && (k.Status.LastHandledReconcileAt != at || ready.Status == "Unknown") {
			err = fmt.Errorf("the Kustomization %s has not been reconciled: %s", name, ready.Message)
		}
		return err
	})
}

// dependsOn applies the manifests of the page: the content first, whose Kustomization waits for the one with the CRDs.
func (f *fluxWalk) dependsOn(ctx context.Context) error {
	operator, err := newRepository(ctx, filepath.Join(f.state, "operator"))
	if err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(operator.dir, "config"), os.DirFS(filepath.Join(f.root, "config"))); err != nil {
		return fmt.Errorf("copy config into a Git repository: %w", err)
	}
	if err := operator.commit(ctx, "the operator", nil); err != nil {
		return err
	}
	for _, m := range []struct{ kind, name string }{
		{"Namespace", namespace},
		{"ServiceAccount", "shop-content"},
		{"RoleBinding", "shop-content"},
		{"GitRepository", "shop"},
		{"Kustomization", fluxContent},
	} {
		if err := f.apply(ctx, m.kind, m.name); err != nil {
			return err
		}
	}
	if err := f.push(ctx, "the content", shopContent()); err != nil {
		return err
	}
	if err := f.await(ctx, time.Minute, func() error {
		_, ready, err := f.get(ctx, fluxContent)
		if err == nil && (ready.Status != "False" || ready.Reason != "DependencyNotReady") {
			err = fmt.Errorf("the Kustomization %s does not wait for the CRDs: %+v", fluxContent, ready)
		}
		return err
	}); err != nil {
		return err
	}
	if err := f.apply(ctx, "GitRepository", "vitrine"); err != nil {
		return err
	}
	// No node runs the Deployment: of the operator's manifests the CRDs alone are applied.
	if err := f.apply(ctx, "Kustomization", "vitrine", "path: ./config/default", "path: ./config/crd"); err != nil {
		return err
	}
	revision, err := f.sources.publish(ctx, operator, "vitrine", "v1.2.3")
	if err != nil {
		return err
	}
	if err := f.ready(ctx, "vitrine", revision); err != nil {
		return err
	}
	if err := f.startServer(ctx); err != nil {
		return err
	}
	if err := f.ready(ctx, fluxContent, f.revision); err != nil {
		return err
	}
	if err := f.readToken(ctx, namespace); err != nil {
		return err
	}
	return f.served(ctx, "wall")
}

// healthy wants every object to be ready by the rules of kstatus where the Kustomization is.
func (f *fluxWalk) healthy(ctx context.Context) error {
	found, err := f.cluster.get(ctx, "-n", namespace, "vitrine")
	if err != nil {
		return err
	}
	if len(found) != len(shopContent()) {
		return fmt.Errorf("%d objects, want %d", len(found), len(shopContent()))
	}
	for _, o := range found {
		if why := o.unready(); why != "" {
			return fmt.Errorf("%s: %s", o, why)
		}
	}
	return nil
}

func (f *fluxWalk) broken(ctx context.Context) error {
	if err := f.push(ctx, "break a query", map[string]string{wallFile: filter("wall", "love AND (", explicit)}); err != nil {
		return err
	}
	if err := f.fails(ctx, fluxContent, "ContentFilter/shop/wall"); err != nil {
		return err
	}
	if err := f.whyCommand(ctx, "wall"); err != nil {
		return err
	}
	return f.served(ctx, "wall")
}

func (f *fluxWalk) fixed(ctx context.Context) error {
	if err := f.push(ctx, "fix the query", map[string]string{wallFile: shopContent()[wallFile]}); err != nil {
		return err
	}
	return f.ready(ctx, fluxContent, f.revision)
}

func (f *fluxWalk) refused(ctx context.Context) error {
	if err := f.push(ctx, "a filter without a query", map[string]string{"content/refused.yaml": filter("refused", "", "")}); err != nil {
		return err
	}
	return f.fails(ctx, fluxContent, "ContentFilter/shop/refused", "spec.query")
}

func (f *fluxWalk) refusedFixed(ctx context.Context) error {
	if err := f.push(ctx, "a query, and a new filter", map[string]string{
		"content/refused.yaml": filter("refused", "approval_status:app AND again", ""), "content/new.yaml": filter("new", "approval_status:app AND new", ""),
	}); err != nil {
		return err
	}
	if err := f.ready(ctx, fluxContent, f.revision); err != nil {
		return err
	}
	return f.served(ctx, "new")
}

func (f *fluxWalk) reverted(ctx context.Context) error {
	if err := f.drift(ctx); err != nil {
		return err
	}
	if err := f.poke(ctx, fluxContent); err != nil {
		return err
	}
	if err := f.wallRight(ctx); err != nil {
		return err
	}
	spec, err := f.filterSpec(ctx, "plain")
	if err == nil && spec.ReadAccess != "" {
		err = fmt.Errorf("readAccess %q, which kubectl added, is still there", spec.ReadAccess)
	}
	if err != nil {
		return err
	}
	return f.ready(ctx, fluxContent, f.revision)
}

func (f *fluxWalk) stays(ctx context.Context) error {
	if err := f.leftOut(ctx, "--field-manager=alice"); err != nil {
		return err
	}
	if err := f.poke(ctx, fluxContent); err != nil {
		return err
	}
	if err := f.ready(ctx, fluxContent, f.revision); err != nil {
		return err
	}
	spec, err := f.filterSpec(ctx, "plain")
	if err == nil && spec.ReadAccess != "ReadOnly" {
		err = errors.New("what another field manager added was removed by Flux: correct the section on drift of docs/gitops.md")
	}
	if err != nil {
		return err
	}
	return f.kubectl(ctx, "patch", "-n", namespace, "contentfilter", "plain", "--type=merge", `--patch={"spec": {"readAccess": null, "sortBy": null}}`)
}

func (f *fluxWalk) substitute(ctx context.Context) error {
	const file, query = "content/dollar.yaml", `approval_status:app AND text:"${USER} $$5"`
	if err := f.kubectl(ctx, "patch", "-n", fluxNamespace, "kustomization", fluxContent, "--type=merge",
		`--patch={"spec": {"postBuild": {"substitute": {"environment": "test"}}}}`); err != nil {
		return err
	}
	if err := f.push(ctx, "a query with a variable", map[string]string{file: filter("dollar", query, "")}); err != nil {
		return err
	}
	if err := f.fails(ctx, fluxContent, "variable not set (strict mode)"); err != nil {
		return err
	}
	annotated := strings.Replace(filter("dollar", query, ""), "{name: dollar}",
		"{name: dollar, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}", 1)
	if err := f.push(ctx, "keep the query as it is", map[string]string{file: annotated}); err != nil {
		return err
	}
	if err := f.ready(ctx, fluxContent, f.revision); err != nil {
		return err
	}
	spec, err := f.filterSpec(ctx, "dollar")
	if err == nil && spec.Query != query {
		err = fmt.Errorf("the query became %q, want %q", spec.Query, query)
	}
	return err
}

func (f *fluxWalk) prune(ctx context.Context) error {
	url, err := f.address(ctx, namespace, "extra")
	if err != nil {
		return err
	}
	if err := f.push(ctx, "remove a filter", map[string]string{extraFile: ""}); err != nil {
		return err
	}
	if err := f.ready(ctx, fluxContent, f.revision); err != nil {
		return err
	}
	return f.readers[namespace].awaitStatus(ctx, url, http.StatusNotFound)
}

func (f *fluxWalk) bulk(ctx context.Context) error {
	if err := f.push(ctx, "the large content", bulkContent()); err != nil {
		return err
	}
	rollOut := func(ctx context.Context) error {
		if _, err := f.cluster.run(ctx, fmt.Sprintf(`
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
`, fluxBulk, fluxNamespace, bulkNamespace), "apply", "-f", "-"); err != nil {
			return err
		}
		return f.ready(ctx, fluxBulk, f.revision)
	}
	prune := func(ctx context.Context) error {
		return f.kubectl(ctx, "delete", "-n", fluxNamespace, "kustomization", fluxBulk, "--timeout=5m")
	}
	return f.walkBulk(ctx, rollOut, prune)
}

func (f *fluxWalk) end(ctx context.Context) error {
	if err := f.kubectl(ctx, "delete", "-n", fluxNamespace, "kustomization", fluxContent, "--timeout=2m"); err != nil {
		return err
	}
	// Its deletionPolicy is Orphan: the CRDs stay.
	if err := f.kubectl(ctx, "delete", "-n", fluxNamespace, "kustomization", "vitrine", "--timeout=2m"); err != nil {
		return err
	}
	return f.nothingLeft(ctx)
}
