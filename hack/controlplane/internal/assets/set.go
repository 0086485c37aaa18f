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

// Set is programs that are built together, with the versions of one go.mod: that of tools/NAME. For a GitOps tool this is the
// go.mod of its release, with the tool itself as a requirement. Sets have contradicting dependencies.
type Set struct {
	// Name is the folder in tools, Group that in the cache.
	Name, Group string
	// Modules are the modules whose versions name the set in the cache, the first with Name.
	Modules []Module
	// Packages are the main packages by the name of the program, as the go.mod lists them as tools.
	Packages map[string]string
	// CRDs is the folder of the first module with the manifests of its kinds, "" for none.
	CRDs string
	// Stamped has the linker write the version into the programs, as the releases of Kubernetes do.
	Stamped bool
}

// Module is a module by its path, and how the cache calls it.
type Module struct{ Label, Path string }

// The sets that there are.
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
		Name: "kustomize-controller", Group: "gitops",
		Modules:  []Module{{"kustomize-controller", "github.com/fluxcd/kustomize-controller"}},
		Packages: map[string]string{"kustomize-controller": "github.com/fluxcd/kustomize-controller"},
		CRDs:     "config/crd/bases",
	}
	ArgoCD = Set{
		Name: "argo-cd", Group: "gitops",
		Modules:  []Module{{"argo-cd", "github.com/argoproj/argo-cd/v3"}},
		Packages: map[string]string{"argo-cd": "github.com/argoproj/argo-cd/v3/cmd"},
		CRDs:     "manifests/crds",
	}
)

// Built is where the programs of a set are, or would be, in the cache.
type Built struct {
	// Dir is the directory of the programs.
	Dir string
	// Version is the version of the set's first module, with its "v".
	Version string
}

// Path returns the path of a program.
func (b Built) Path(name string) string { return filepath.Join(b.Dir, name) }

// CRDs returns the folder with the manifests of the set's kinds.
func (b Built) CRDs() string { return filepath.Join(b.Dir, "crds") }

// Has reports whether the named programs are built. The CRDs are there with the first program.
func (b Built) Has(names ...string) bool { return len(missing(b.Dir, names)) == 0 }

// Find returns where the programs of a set are, or would be once Ensure has built them.
func (s Set) Find(root string) (Built, error) {
	file := filepath.Join(s.module(root), "go.mod")
	mod, err := os.ReadFile(file)
	if err != nil {
		return Built{}, fmt.Errorf("read the versions of %s: %w", s.Name, err)
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

// Ensure returns the set with the named programs, and builds those that are missing in the cache. That takes minutes.
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
	lacking := missing(built.Dir, names) // another process may have built them
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

// build builds programs with one call of the go command: it compiles each package once, although the programs share most of
// theirs, and links one program while it compiles the rest of another.
func (s Set) build(ctx context.Context, opts Options, built Built, names []string) error {
	if err := os.MkdirAll(built.Dir, 0o755); err != nil {
		return fmt.Errorf("make the cache directory (set %s to choose another): %w", EnvCache, err)
	}
	temp, err := os.MkdirTemp(built.Dir, ".building-")
	if err != nil {
		return fmt.Errorf("make a directory in the cache (set %s to choose another): %w", EnvCache, err)
	}
	defer os.RemoveAll(temp)
	args := []string{"build", "-v", "-mod=readonly", "-trimpath", "-ldflags", s.linkerFlags(built.Version), "-o", temp + string(filepath.Separator)}
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

// executable returns the name that the go command gives the program of a package: the last element of the import path that is
// not a major version.
func executable(pkg string) string {
	if regexp.MustCompile(`^v[0-9]+$`).MatchString(path.Base(pkg)) {
		pkg = path.Dir(pkg)
	}
	return path.Base(pkg)
}

// linkerFlags leave out symbols, and stamp the version where the set asks for it: without, a server calls itself
// v0.0.0-master, and clients that look at the server's version go wrong.
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

// copyCRDs copies the manifests of the set's kinds from its first module, which it downloads when the module cache lacks it.
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
		err = fmt.Errorf("there are none in %s of %s", s.CRDs, answer.Dir)
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

// required returns the version that a go.mod requires of a module, "" when it does not.
func required(mod []byte, module string) string {
	line := regexp.MustCompile(`(?m)^(?:require)?\s*` + regexp.QuoteMeta(module) + `\s+(v\S+)`)
	if m := line.FindSubmatch(mod); m != nil {
		return string(m[1])
	}
	return ""
}
