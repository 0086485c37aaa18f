package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
	"github.com/vitrine-dev/vitrine/hack/controlplane/plane"
)

// Namespaces of the tools.
const (
	fluxNamespace = "flux-system"
	argoNamespace = "argocd"
)

// gitopsWalk applies content with real GitOps tools to a control plane and looks at what the tools and the server say.
type gitopsWalk struct {
	*stack
	page    page
	root    string
	content repository // the team's repository: content/ for the namespace shop, bulk/ for the large roll-out
	sources *sources
	readers map[string]*caller // by namespace, with a READ-WRITE token
}

// notRun is the reason why the walk did not begin.
type notRun struct{ reason string }

func (n notRun) Error() string { return "GITOPS DID NOT RUN: " + n.reason }

// gitops walks Vitrine through Flux and then through Argo CD, on fresh state. With builtOnly it says so and does nothing where
// one of the two is not built yet.
func gitops(ctx context.Context, root string, builtOnly bool, out io.Writer) (err error) {
	for program, reason := range map[string]string{
		"git":          "git is not installed",
		"redis-server": "redis-server is not installed, which Argo CD needs (on Debian: apt-get install redis-server)",
	} {
		if _, err := exec.LookPath(program); err != nil {
			return notRun{reason}
		}
	}
	w := &gitopsWalk{stack: &stack{options: options{root: root, out: out}, unlock: func() {}}, root: root, readers: map[string]*caller{}}
	tools := map[string]assets.Built{}
	for _, tool := range []assets.Set{assets.KustomizeController, assets.ArgoCD} {
		built, err := tool.Find(root)
		if err != nil {
			return err
		}
		if builtOnly && !built.Has(tool.Name) {
			w.say("%v", notRun{tool.Name + " " + built.Version + " is not built yet; make gitops builds it, which takes minutes"})
			return nil
		}
		tools[tool.Name] = built
	}
	for _, tool := range []assets.Set{assets.KustomizeController, assets.ArgoCD} {
		if _, err := tool.Ensure(ctx, w.assets(), tool.Name); err != nil {
			return err
		}
	}
	if w.page, err = readPage(filepath.Join(root, "docs", "gitops.md")); err != nil {
		return err
	}
	w.state, err = os.MkdirTemp("", "vitrine-gitops-")
	if err != nil {
		return fmt.Errorf("make a directory for the state: %w", err)
	}
	begin := time.Now()
	defer func() {
		if w.sources != nil {
			w.sources.stop()
		}
		w.Stop(0)
		if err != nil {
			err = fmt.Errorf("gitops: %w\n\nall logs and data are kept in %s", err, w.state)
			return
		}
		os.RemoveAll(w.state)
		w.say("gitops: ok, everything stopped, %s", time.Since(begin).Round(time.Second))
	}()
	w.binary = filepath.Join(root, "bin", "vitrine")
	if err := w.buildServer(ctx); err != nil {
		return err
	}
	if err := w.startGitopsPlane(ctx); err != nil {
		return err
	}
	if w.content, err = newRepository(ctx, filepath.Join(w.state, "content")); err != nil {
		return err
	}
	if err := w.walkFlux(ctx, tools[assets.KustomizeController.Name]); err != nil {
		return fmt.Errorf("flux: %w", err)
	}
	if err := w.walkArgo(ctx, tools[assets.ArgoCD.Name]); err != nil {
		return fmt.Errorf("argo cd: %w", err)
	}
	return w.Err()
}

// startGitopsPlane starts a control plane with the two controllers that the tools count on: the garbage collector, for Argo
// CD deletes in the foreground, and the aggregation of roles, for Flux acts as an account with the role admin.
func (w *gitopsWalk) startGitopsPlane(ctx context.Context) error {
	bin, err := assets.Dir(ctx, w.assets())
	if err != nil {
		return err
	}
	manager, err := assets.Kubernetes.Ensure(ctx, w.assets(), assets.ControllerManager)
	if err != nil {
		return err
	}
	w.cluster = cluster{kubectl: filepath.Join(bin, assets.Kubectl), cache: filepath.Join(w.state, "kubectl")}
	w.say("starting etcd, kube-apiserver and kube-controller-manager…")
	p, err := plane.Start(filepath.Join(w.state, "controlplane"), bin)
	if err != nil {
		return err
	}
	w.Add(p)
	w.cluster.kubeconfig = p.Kubeconfig
	if err := w.start(assets.ControllerManager, manager.Path(assets.ControllerManager), nil,
		"--kubeconfig="+w.cluster.kubeconfig,
		"--controllers=garbage-collector-controller,clusterrole-aggregation-controller", "--leader-elect=false",
		"--secure-port=0",
	); err != nil {
		return err
	}
	for _, name := range []string{"view", "edit", "admin"} {
		if _, err := w.cluster.run(ctx, "", "apply", "-f", filepath.Join(w.root, "config", "rbac", name+".yaml")); err != nil {
			return err
		}
	}
	_, err = w.cluster.run(ctx, "", "create", "namespace", bulkNamespace)
	return err
}

// start starts a program of the walk, which ends with it.
func (w *gitopsWalk) start(name, path string, env []string, args ...string) error {
	p, err := process.Start(process.Spec{
		Name: name, Path: path, Args: args, Env: append(env, w.cluster.environment()...), Log: filepath.Join(w.state, "logs", name+".log"),
	})
	if err != nil {
		return err
	}
	w.Add(p)
	return nil
}

// step is a part of the walk.
type step struct {
	name string
	run  func(context.Context) error
}

// walk runs steps in their order, each of which begins where the one before ended.
func (w *gitopsWalk) walk(ctx context.Context, steps []step) error {
	for _, s := range steps {
		begin := time.Now()
		if err := s.run(ctx); err != nil {
			if ended := w.Err(); ended != nil {
				err = ended
			}
			return fmt.Errorf("%s: %w", s.name, err)
		}
		w.say("ok: %s (%s)", s.name, time.Since(begin).Round(100*time.Millisecond))
	}
	return nil
}

// await is eventually that ends at once when a program of the walk has.
func (w *gitopsWalk) await(ctx context.Context, timeout time.Duration, check func() error) error {
	return eventually(ctx, timeout, func() error {
		if err := w.Err(); err != nil {
			return fatal{err}
		}
		return check()
	})
}

// read decodes what `kubectl get -o json` finds for args.
func (w *gitopsWalk) read(ctx context.Context, into any, args ...string) error {
	text, err := w.cluster.run(ctx, "", append([]string{"get", "-o", "json"}, args...)...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("read the answer of kubectl get %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

func (w *gitopsWalk) kubectl(ctx context.Context, args ...string) error {
	_, err := w.cluster.run(ctx, "", args...)
	return err
}
