package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/server"
	"github.com/vitrine-dev/vitrine/internal/text"
)

func newSweep() *cobra.Command {
	var dataDir string
	var confirm bool
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Show or confirm the removals that the operator holds",
		Long: `Show whether a sweep is held. With --confirm, run the held sweep.

After a start, the operator sweeps: it removes the definitions whose manifests are no longer in the cluster. If it would remove
unusually many, it holds the sweep: the server keeps serving these definitions until their manifests return, or until this
command confirms the removal. The command connects to the server that uses the data directory.`,
		Example: example(`
# Show a held sweep
kubectl exec -n vitrine-system deploy/vitrine -- vitrine sweep

# Run the held sweep
kubectl exec -n vitrine-system deploy/vitrine -- vitrine sweep --confirm`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := admin.NewClient(dataDir)
			s, err := c.Sweep(cmd.Context())
			if err != nil {
				return adminError(dataDir, err)
			}
			out := cmd.OutOrStdout()
			switch {
			case !s.Kubernetes:
				fmt.Fprintln(out, "nothing waits for confirmation: this server does not follow a cluster")
			case confirm:
				// Send the confirmation even if no sweep is held, because a confirmation also assigns a store that belongs to another
				// cluster to this cluster.
				n, err := c.ConfirmSweep(cmd.Context())
				if err != nil {
					return adminError(dataDir, err)
				}
				fmt.Fprintf(out, "%s definitions removed\n", text.Thousands(n))
			case s.Held:
				fmt.Fprintf(out, "a sweep is held: it would remove %s of %s definitions, whose manifests are not in the cluster; apply these manifests, or run this command with --confirm to remove the definitions\n",
					text.Thousands(s.Remove), text.Thousands(s.Total))
			default:
				fmt.Fprintf(out, "no sweep is held; %s\n", s.Message)
			}
			return nil
		},
	}
	server.BindDataDir(cmd.Flags(), &dataDir)
	cmd.Flags().BoolVar(&confirm, "confirm", false, "run the held sweep; if the store belongs to another cluster or installation, hand the store over to the current one")
	return cmd
}

func adminError(dataDir string, err error) error {
	if errors.Is(err, admin.ErrNoServer) {
		return fmt.Errorf("no running server uses %s: start the server, or set --data-dir to its data directory", dataDir)
	}
	return err
}
