package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vitrine-dev/vitrine/internal/exit"
)

// restConfig returns a function that returns the configuration of the cluster: from the file in flag, otherwise from the files in
// KUBECONFIG, otherwise from the pod. It never reads the user's ~/.kube/config, because a server must not depend on the cluster that the
// user selected last. The caller must call the returned function for each new connection, so that changed files take effect.
func restConfig(flag string) (func() (*rest.Config, error), error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: flag}
	if env := os.Getenv("KUBECONFIG"); flag == "" && env != "" {
		rules.Precedence = filepath.SplitList(env)
	} else if flag == "" {
		if _, err := rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
			return nil, exit.Usagef("no cluster: pass --kubeconfig or set KUBECONFIG, or serve the stored state with --without-kubernetes")
		} else if err != nil {
			return nil, fmt.Errorf("cannot use the pod's service account: %w", err)
		}
		return rest.InClusterConfig, nil
	}
	load := func() (*rest.Config, error) {
		raw, err := rules.Load()
		if err != nil {
			return nil, fmt.Errorf("read the kubeconfig: %w", err)
		}
		c, err := clientcmd.NewNonInteractiveClientConfig(*raw, "", &clientcmd.ConfigOverrides{}, rules).ClientConfig()
		if clientcmd.IsEmptyConfig(err) {
			return nil, errors.New("the kubeconfig is missing or names no cluster: check --kubeconfig and KUBECONFIG")
		}
		if err != nil {
			return nil, fmt.Errorf("cannot use the kubeconfig: %w", err)
		}
		return c, nil
	}
	// A missing or invalid kubeconfig at start is a usage error. If the file is missing later, the server waits for it.
	if _, err := load(); err != nil {
		return nil, exit.Usagef("%w", err)
	}
	return load, nil
}
