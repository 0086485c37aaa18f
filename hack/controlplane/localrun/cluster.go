package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cluster is an API server as kubectl reaches it.
type cluster struct {
	kubectl    string // path of the program
	kubeconfig string
	cache      string // kubectl's own; the user's stays untouched
}

// environment is what every kubectl gets: our kubeconfig and nothing of the user's own settings.
func (c cluster) environment() []string {
	return []string{"KUBECONFIG=" + c.kubeconfig, "KUBECACHEDIR=" + c.cache, "KUBERC=off"}
}

// run runs kubectl and returns what it wrote to its standard output.
func (c cluster) run(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.kubectl, args...)
	cmd.Env = append(os.Environ(), c.environment()...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// applyCRDs applies the definitions of the five kinds and waits until the API server serves them.
func (c cluster) applyCRDs(ctx context.Context, root string) error {
	// Server-side: the client-side annotation would hold a second copy of each schema. Forced: what another tool or an
	// older version set is ours.
	bases := filepath.Join(root, "config", "crd", "bases")
	if _, err := c.run(ctx, "", "apply", "--server-side", "--force-conflicts", "--field-manager=vitrine-localrun", "-f", bases); err != nil {
		return err
	}
	return c.established(ctx)
}

// established waits until the API server serves every kind. kubectl gives up at once on a CRD that has no conditions yet.
func (c cluster) established(ctx context.Context) error {
	return eventually(ctx, time.Minute, func() error {
		_, err := c.run(ctx, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
		return err
	})
}

// object is what all kinds have in common.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name       string `json:"name"`
		Generation int64  `json:"generation"`
	} `json:"metadata"`
	Status struct {
		ObservedGeneration int64       `json:"observedGeneration"`
		URL                string      `json:"url"`
		Items              int64       `json:"items"`
		MatchedItems       int64       `json:"matchedItems"`
		Applied            int64       `json:"applied"`
		Attached           int64       `json:"attached"`
		Conditions         []condition `json:"conditions"`
	} `json:"status"`
	Data map[string]string `json:"data"` // of a Secret
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (o object) String() string { return o.Kind + " " + o.Metadata.Name }

func (o object) condition(name string) (condition, bool) {
	i := slices.IndexFunc(o.Status.Conditions, func(c condition) bool { return c.Type == name })
	if i < 0 {
		return condition{}, false
	}
	return o.Status.Conditions[i], true
}

// unready returns "" for an object that is ready by the rules of kstatus, else why it is not: the present generation has
// to have been looked at, nothing may be under way or in the way, and Ready has to be True.
func (o object) unready() string {
	if o.Status.ObservedGeneration != o.Metadata.Generation {
		return "not reconciled yet"
	}
	for _, name := range []string{"Stalled", "Reconciling"} {
		if c, ok := o.condition(name); ok && c.Status == "True" {
			return fmt.Sprintf("%s: %s: %s", name, c.Reason, c.Message)
		}
	}
	c, ok := o.condition("Ready")
	switch {
	case !ok:
		return "no Ready condition yet"
	case c.Status != "True":
		return fmt.Sprintf("not ready: %s: %s", c.Reason, c.Message)
	}
	return ""
}

// get returns the objects that `kubectl get` finds for args.
func (c cluster) get(ctx context.Context, args ...string) ([]object, error) {
	text, err := c.run(ctx, "", append([]string{"get", "-o", "json"}, args...)...)
	if err != nil {
		return nil, err
	}
	var list struct {
		object
		Items []object `json:"items"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read the answer of kubectl get %s: %w", strings.Join(args, " "), err)
	}
	if list.Kind == "List" {
		return list.Items, nil
	}
	return []object{list.object}, nil
}

// waitReady waits until all objects of our kinds that args name are ready.
func (c cluster) waitReady(ctx context.Context, timeout time.Duration, args ...string) error {
	return eventually(ctx, timeout, func() error {
		objects, err := c.get(ctx, args...)
		if err != nil {
			return err
		}
		var waiting []error
		for _, o := range objects {
			if !strings.HasPrefix(o.APIVersion, "vitrine.dev/") {
				continue
			}
			if why := o.unready(); why != "" {
				waiting = append(waiting, fmt.Errorf("%s: %s", o, why))
			}
		}
		return errors.Join(waiting...)
	})
}

// secret returns the members of a Secret.
func (c cluster) secret(ctx context.Context, name string) (map[string]string, error) {
	found, err := c.get(ctx, "-n", namespace, "secret", name)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, encoded := range found[0].Data {
		value, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, fmt.Errorf("decode member %s of Secret %s: %w", key, name, err)
		}
		out[key] = string(value)
	}
	return out, nil
}

// fatal is an error that no waiting mends; eventually returns it at once.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// eventually calls check until it returns nil, and returns its last error when that has not come about in time.
func eventually(ctx context.Context, timeout time.Duration, check func() error) error {
	deadline := time.After(timeout)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if hopeless := (fatal{}); errors.As(err, &hopeless) {
			return hopeless.error
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline:
			return fmt.Errorf("waited %s in vain: %w", timeout, err)
		case <-tick.C:
		}
	}
}
