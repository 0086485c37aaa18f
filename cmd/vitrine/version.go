package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/version"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: example(`
vitrine version`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := version.Get()
			fmt.Fprintf(cmd.OutOrStdout(), "vitrine %s (commit %s, %s, %s/%s)\n", v.Version, v.Commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
