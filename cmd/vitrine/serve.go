package main

import (
	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/server"
)

func newServe() *cobra.Command {
	o := &server.Options{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the content server and its operator",
		Long: `Run the content server and its operator in one process. The operator follows the manifests in the cluster. The server serves
over HTTPS what the manifests declare.

Without --tls-cert-file, the server creates its own certificate authority in the data directory at its first start. While the
API server of the cluster is unreachable, the server serves the last known state.`,
		Example: example(`
# In a pod, follow the cluster of the pod
vitrine serve

# On a workstation, follow the cluster of a kubeconfig
vitrine serve --kubeconfig ./kubeconfig --data-dir ./data

# Serve a restored backup without a cluster
vitrine serve --data-dir ./try --without-kubernetes`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, flush, err := server.NewLogger(cmd.ErrOrStderr(), o.LogFormat, o.LogLevel)
			if err != nil {
				return err
			}
			defer flush()
			if err := o.Validate(); err != nil {
				return err
			}
			return server.Run(cmd.Context(), *o, log)
		},
	}
	o.Bind(cmd.Flags())
	return cmd
}
