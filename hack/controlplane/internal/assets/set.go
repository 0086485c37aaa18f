package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// Set is a group of programs that are built together, with the versions of the go.mod in tools/NAME. For a GitOps tool, this file is the
// go.mod of the tool's release, with the tool itself as an additional requirement. Each set has its own go.mod, because the dependencies of
// the sets conflict.
type Set struct {
	// Name is the name of the folder in tools. Group is the folder of the cache that contains the set.
	Name, Group string
	// Modules are the modules whose versions are in the name of the set's directory in the cache. The first module has the label Name.
	Modules []Module
	// Packages maps the name of each program to its main package, which go.mod lists as a tool.
	Packages map[string]string
	// CRDs is the folder of the first module that contains the CRD manifests; "" means none.
	CRDs string
	// Stamped makes the linker write the version into the programs, as in the releases of Kubernetes.
	Stamped bool
	// Quick saves a fifth of the compiler's work: it builds without inlining and without debugging information. The programs are slower.
	Quick bool
}

// Module is the path of a module, and its label in the names of directories in the cache.
type Module struct{ Label, Path string }

// All sets.
var (
	Kubernetes = Set{
		Name: "kubernetes", Group: "controlplane", Stamped: true,
		Modules: []Module{{"kubernetes", "k8s.io/kubernetes"}, {"etcd", "go.etcd.io/etcd/server/v3"}},
		Packages: map[string]string{
			Etcd:              "go.etcd.io/etcd/server/v3",
			APIServer:         "k8s.io/kubernetes/cmd/kube-apiserver",
			Kubectl:           "k8s.io/kubernetes/cmd/kubectl",
			ControllerManager: "k8s.io/kubernetes/cmd/kube-controller-manager",
		},
	}
	KustomizeController = Set{
		Name: "kustomize-controller", Group: "gitops", Quick: true,
		Modules:  []Module{{"kustomize-controller", "github.com/fluxcd/kustomize-controller"}},
		Packages: map[string]string{"kustomize-controller": "github.com/fluxcd/kustomize-controller"},
		CRDs:     "config/crd/bases",
	}
	ArgoCD = Set{
		Name: "argo-cd", Group: "gitops", Quick: true,
		Modules:  []Module{{"argo-cd", "github.com/argoproj/argo-cd/v3"}},
		Packages: map[string]string{"argo-cd": "github.com/argoproj/argo-cd/v3/cmd"},
		CRDs:     "manifests/crds",
	}
)

// Built is the place of a set in the cache. The set need not be built yet.
type Built struct {
	// Dir is the directory of the programs.
	Dir string
	// Version is the version of the set's first module, including the "v".
	Version string
}

// Path returns the path of a program.
func (b Built) Path(name string) string { return filepath.Join(b.Dir, name) }

// CRDs returns the folder with the CRD manifests.
func (b Built) CRDs() string { return filepath.Join(b.Dir, "crds") }

// Has reports whether the named programs are built. If any program is built, the CRD manifests are in the cache too.
func (b Built) Has(names ...string) bool { return len(missing(b.Dir, names)) == 0 }

// Find returns the place of a set in the cache, without building it.
func (s Set) Find(root string) (Built, error) {
	file := filepath.Join(s.module(root), "go.mod")
	mod, err := os.ReadFile(file)
	if err != nil {
		return Built{}, fmt.Errorf("read the required versions of %s: %w", s.Name, err)
	}
	var b Built
	name := ""
	for _, m := range s.Modules {
		version := required(mod, m.Path)
		if version == "" {
			return Built{}, fmt.Errorf("%s does not require %s", file, m.Path)
		}
		if b.Version == "" {
			b.Version = version
		}
		name += m.Label + "-" + version + "-"
	}
	cache, err := cacheDir()
	b.Dir = filepath.Join(cache, s.Group, name+runtime.GOOS+"-"+runtime.GOARCH)
	return b, err
}

// Ensure returns the set with the named programs. It builds missing programs, which takes minutes.
func (s Set) Ensure(ctx context.Context, opts Options, names ...string) (Built, error) {
	opts = opts.withDefaults()
	built, err := s.Find(opts.Root)
	if err != nil || built.Has(names...) {
		return built, err
	}
	unlock, err := lock(ctx, opts, built.Dir)
	if err != nil {
		return built, err
	}
	defer unlock()
	lacking := missing(built.Dir, names) // check again, because another process may have built programs in the meantime
	if len(lacking) == 0 {
		return built, nil
	}
	begin := time.Now()
	if s.CRDs != "" {
		if err := s.copyCRDs(ctx, opts, built.CRDs()); err != nil {
			return built, err
		}
	}
	if err := s.build(ctx, opts, built, lacking); err != nil {
		return built, err
	}
	opts.Progress("built %s in %s, into %s", strings.Join(lacking, ", "), time.Since(begin).Round(time.Second), built.Dir)
	return built, nil
}

// GitOps returns the paths of the programs of make gitops. It builds missing programs, which takes minutes.
func GitOps(ctx context.Context, opts Options) (paths []string, err error) {
	for _, of := range []struct {
		set     Set
		program string
	}{{ArgoCD, ArgoCD.Name}, {KustomizeController, KustomizeController.Name}, {Kubernetes, ControllerManager}} {
		built, err := of.set.Ensure(ctx, opts, of.program)
		if err != nil {
			return nil, err
		}
		paths = append(paths, built.Path(of.program))
	}
	return paths, nil
}

// build builds programs with a single go command. With a single command, each shared package is compiled only once, and the linking of one
// program overlaps with the compilation of another.
func (s Set) build(ctx context.Context, opts Options, built Built, names []string) error {
	if err := os.MkdirAll(built.Dir, 0o755); err != nil {
		return fmt.Errorf("create the cache directory (set %s to choose another): %w", EnvCache, err)
	}
	temp, err := os.MkdirTemp(built.Dir, ".building-")
	if err != nil {
		return fmt.Errorf("create a directory in the cache (set %s to choose another): %w", EnvCache, err)
	}
	defer os.RemoveAll(temp)
	args := []string{"build", "-v", "-mod=readonly", "-trimpath"}
	if s.Quick {
		// The last matching pattern counts, so that the standard library is the one that other builds have already compiled.
		args = append(args, "-gcflags=all=-l -dwarf=false", "-gcflags=std=")
	}
	args = append(args, "-ldflags", s.linkerFlags(built.Version), "-o", temp+string(filepath.Separator))
	if memory, err := os.ReadFile("/proc/meminfo"); err == nil && available(string(memory)) < enough {
		args = append(args, "-p=1")
	}
	for _, name := range names {
		args = append(args, s.Packages[name])
	}
	if err := Go(ctx, opts, s.module(opts.Root), "building "+strings.Join(names, ", "), args...); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(temp, executable(s.Packages[name])), built.Path(name)); err != nil {
			return fmt.Errorf("move %s to the cache: %w", name, err)
		}
	}
	return nil
}

// executable returns the file name that the go command gives the program of a package: the last element of the import path that is not a
// major version such as v2.
func executable(pkg string) string {
	if regexp.MustCompile(`^v[0-9]+$`).MatchString(path.Base(pkg)) {
		pkg = path.Dir(pkg)
	}
	return path.Base(pkg)
}

// linkerFlags returns flags that omit symbols. For a stamped set, the flags also set the version, because otherwise a server would report
// v0.0.0-master, which breaks clients that check the version.
func (s Set) linkerFlags(version string) string {
	flags := []string{"-s", "-w"}
	if s.Stamped {
		minor, _, _ := strings.Cut(strings.TrimPrefix(version, "v1."), ".")
		for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
			for _, stamp := range []string{"gitVersion=" + version, "gitMajor=1", "gitMinor=" + minor, "gitTreeState=archive"} {
				flags = append(flags, "-X", pkg+"."+stamp)
			}
		}
	}
	return strings.Join(flags, " ")
}

// copyCRDs copies the CRD manifests of the set's first module. It downloads the module if the module cache does not contain it.
func (s Set) copyCRDs(ctx context.Context, opts Options, to string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", s.Modules[0].Path)
	cmd.Dir = s.module(opts.Root)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	text, err := cmd.Output()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var answer struct{ Dir, Error string }
	if decoded := json.Unmarshal(text, &answer); err == nil {
		err = decoded
	}
	if answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return fmt.Errorf("download %s: %w", s.Modules[0].Path, err)
	}
	files, err := filepath.Glob(filepath.Join(answer.Dir, filepath.FromSlash(s.CRDs), "*.yaml"))
	if err == nil {
		err = os.MkdirAll(to, 0o755)
	}
	copied := 0
	for _, file := range files {
		if err == nil && filepath.Base(file) != "kustomization.yaml" {
			copied++
			var crd []byte
			if crd, err = os.ReadFile(file); err == nil {
				err = os.WriteFile(filepath.Join(to, filepath.Base(file)), crd, 0o600)
			}
		}
	}
	if err == nil && copied == 0 {
		err = fmt.Errorf("found no CRDs in the folder %s of %s", s.CRDs, answer.Dir)
	}
	if err != nil {
		return fmt.Errorf("copy the CRDs of %s: %w", s.Name, err)
	}
	return nil
}

// module returns the directory of the set's go.mod.
func (s Set) module(root string) string {
	return filepath.Join(root, "hack", "controlplane", "tools", s.Name)
}

// required returns the version of a module that a go.mod requires, or "".
func required(mod []byte, module string) string {
	line := regexp.MustCompile(`(?m)^(?:require)?\s*` + regexp.QuoteMeta(module) + `\s+(v\S+)`)
	if m := line.FindSubmatch(mod); m != nil {
		return string(m[1])
	}
	return ""
}
