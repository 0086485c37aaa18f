package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// restConfig returns how to reach the cluster: the flag's file, else those that KUBECONFIG names, else that of the pod. The
// user's own ~/.kube/config is never read: a server must not come to watch whatever cluster was used last. The function is
// called again for each new connection, so that changed files are seen.
func restConfig(flag string) (func() (*rest.Config, error), error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: flag}
	if env := os.Getenv("KUBECONFIG"); flag == "" && env != "" {
		rules.Precedence = filepath.SplitList(env)
	} else if flag == "" {
		if _, err := rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
			return nil, usagef("no cluster: give --kubeconfig or set KUBECONFIG, or serve the stored state with --without-kubernetes")
		} else if err != nil {
			return nil, fmt.Errorf("use the pod's service account: %w", err)
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
			return nil, fmt.Errorf("use the kubeconfig: %w", err)
		}
		return c, nil
	}
	// A file that is wrong now is a mistake to be told; one that goes missing later is waited for.
	if _, err := load(); err != nil {
		return nil, usagef("%w", err)
	}
	return load, nil
}
