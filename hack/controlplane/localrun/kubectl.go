package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cluster is an API server that is accessed with kubectl.
type cluster struct {
	kubectl    string // path of the program
	kubeconfig string
	cache      string // the cache of kubectl, which is separate from the user's cache
}

// environment returns the environment of kubectl: our kubeconfig, and none of the user's settings.
func (c cluster) environment() []string {
	return []string{"KUBECONFIG=" + c.kubeconfig, "KUBECACHEDIR=" + c.cache, "KUBERC=off"}
}

// run runs kubectl and returns its standard output.
func (c cluster) run(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.kubectl, args...)
	cmd.Env = append(os.Environ(), c.environment()...)
	cmd.Stdin = strings.NewReader(stdin)
	text, messages, err := output(ctx, cmd)
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(messages))
	}
	return text, nil
}

// output runs a command and returns its output. If ctx has ended, the error is the cause of ctx.
func output(ctx context.Context, cmd *exec.Cmd) (text, messages string, err error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err = cmd.Run(); ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return stdout.String(), stderr.String(), err
}

// get decodes the output of `kubectl get -o json` with args.
func (c cluster) get(ctx context.Context, into any, args ...string) error {
	text, err := c.run(ctx, "", append([]string{"get", "-o", "json"}, args...)...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("read the output of kubectl get %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// applyCRDs applies the CRDs of the six kinds.
func (c cluster) applyCRDs(ctx context.Context, root string) error {
	// Apply server-side, because the annotation of a client-side apply would contain a second copy of each schema. Override conflicts,
	// because these fields belong to Vitrine, even if an older version or another tool has set them.
	_, err := c.run(ctx, "", "apply", "--server-side", "--force-conflicts", "--field-manager=vitrine-localrun", "-f", filepath.Join(root, "config", "crd", "bases"))
	return err
}

// established returns nil when the API server serves every kind. It calls kubectl wait, which fails immediately if a CRD has no conditions
// yet. In that case, call established again.
func (c cluster) established(ctx context.Context) error {
	_, err := c.run(ctx, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	return err
}

// waitReady waits until the named objects of a manifest are ready. It ignores objects of other API groups than Vitrine's.
func (c cluster) waitReady(ctx context.Context, args ...string) error {
	names, err := c.run(ctx, "", append([]string{"get", "-o", "name"}, args...)...)
	if err != nil {
		return err
	}
	wait := []string{"wait", "-n", namespace, "--for=condition=Ready", "--timeout=2m"}
	for _, name := range strings.Fields(names) {
		if strings.Contains(name, ".vitrine.dev/") {
			wait = append(wait, name)
		}
	}
	_, err = c.run(ctx, "", wait...)
	return err
}
