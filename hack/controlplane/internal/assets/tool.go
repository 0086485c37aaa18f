package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Tool is a GitOps tool, built from its Go module. Its dependencies contradict those of the control plane, so each tool has a
// go.mod of its own in tools/NAME: the go.mod of the tool's release, with the tool itself as a requirement.
type Tool struct {
	// Name is the name of the program and of its folder in tools.
	Name string
	// Module is the tool's module; tools/NAME/go.mod requires its version. Package is the main package in it.
	Module, Package string
	// CRDs is the folder of the module with the manifests of the tool's own kinds.
	CRDs string
}

// The tools that Vitrine is tested with.
var (
	KustomizeController = Tool{
		Name: "kustomize-controller", Module: "github.com/fluxcd/kustomize-controller", Package: "github.com/fluxcd/kustomize-controller",
		CRDs: "config/crd/bases",
	}
	ArgoCD = Tool{
		Name: "argo-cd", Module: "github.com/argoproj/argo-cd/v3", Package: "github.com/argoproj/argo-cd/v3/cmd",
		CRDs: "manifests/crds",
	}
)

// crdsFolder holds a tool's CRDs, beside its program.
const crdsFolder = "crds"

// BuiltTool is a tool in the cache.
type BuiltTool struct {
	// Version is the version of the module, with its "v".
	Version string
	// Path is the program, CRDs a folder with the manifests of its kinds.
	Path, CRDs string
}

// Complete reports whether the tool has been built. The program is put in its place last.
func (b BuiltTool) Complete() bool {
	return len(missing(filepath.Dir(b.Path), []string{filepath.Base(b.Path)})) == 0
}

// FindTool returns where a tool is, or would be once EnsureTool has built it.
func FindTool(root string, tool Tool) (BuiltTool, error) {
	file := filepath.Join(tool.module(root), "go.mod")
	mod, err := os.ReadFile(file)
	if err != nil {
		return BuiltTool{}, fmt.Errorf("read the go.mod of %s: %w", tool.Name, err)
	}
	version := required(mod, tool.Module)
	if version == "" {
		return BuiltTool{}, fmt.Errorf("%s does not require %s", file, tool.Module)
	}
	cache, err := cacheDir()
	if err != nil {
		return BuiltTool{}, err
	}
	dir := filepath.Join(cache, "gitops", fmt.Sprintf("%s-%s-%s-%s", tool.Name, version, runtime.GOOS, runtime.GOARCH))
	return BuiltTool{Version: version, Path: filepath.Join(dir, tool.Name), CRDs: filepath.Join(dir, crdsFolder)}, nil
}

// EnsureTool returns a tool. What the cache lacks is built, which takes 10 to 20 minutes of CPU.
func EnsureTool(ctx context.Context, opts Options, tool Tool) (BuiltTool, error) {
	opts = opts.withDefaults()
	built, err := FindTool(opts.Root, tool)
	if err != nil || built.Complete() {
		return built, err
	}
	dir := filepath.Dir(built.Path)
	unlock, err := lock(ctx, opts, dir)
	if err != nil {
		return BuiltTool{}, err
	}
	defer unlock()
	if built.Complete() { // built by the process that was waited for
		return built, nil
	}
	opts.Progress("building %s %s from its Go module, once for this machine, into %s", tool.Name, built.Version, dir)
	if err := copyCRDs(ctx, opts, tool, built.CRDs); err != nil {
		return BuiltTool{}, err
	}
	if err := build(ctx, opts, dir, tool.module(opts.Root), "-s -w", program{tool.Name, tool.Package}); err != nil {
		return BuiltTool{}, err
	}
	return built, nil
}

// copyCRDs copies the manifests of a tool's kinds from its module.
func copyCRDs(ctx context.Context, opts Options, tool Tool, to string) error {
	module, err := toolSource(ctx, opts, tool)
	if err != nil {
		return err
	}
	from := filepath.Join(module, filepath.FromSlash(tool.CRDs))
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("read the CRDs of %s: %w", tool.Name, err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("make a directory in the cache (set %s to choose another): %w", EnvCache, err)
	}
	copied := 0
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".yaml" || e.Name() == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return fmt.Errorf("read a CRD of %s: %w", tool.Name, err)
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), text, 0o600); err != nil {
			return fmt.Errorf("keep a CRD of %s: %w", tool.Name, err)
		}
		copied++
	}
	if copied == 0 {
		return fmt.Errorf("%s holds no CRD of %s", from, tool.Name)
	}
	return nil
}

// toolSource downloads a tool's module, when the module cache lacks it, and returns its directory.
func toolSource(ctx context.Context, opts Options, tool Tool) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", tool.Module)
	cmd.Dir = tool.module(opts.Root)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	text, err := cmd.Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	var answer struct{ Dir, Error string }
	if decoded := json.Unmarshal(text, &answer); err == nil {
		err = decoded
	}
	if answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download %s: %w", tool.Module, err)
	}
	return answer.Dir, nil
}

// module returns the directory of the tool's own go.mod.
func (t Tool) module(root string) string { return filepath.Join(modules(root), t.Name) }
