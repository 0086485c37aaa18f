package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: example(`
vitrine version`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := buildVersion()
			fmt.Fprintf(cmd.OutOrStdout(), "vitrine %s (commit %s, %s, %s/%s)\n", v.version, v.commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

// released is the version of a release; hack/image sets it with the linker. In other binaries, released is "", and the binary reports the
// version that the Go toolchain derives from the Git repository.
var released string

// build is the build information in the binary.
type build struct {
	version string // a tag, or a pseudo-version
	commit  string
}

func buildVersion() build {
	b := build{version: "unknown", commit: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if version := cmp.Or(released, info.Main.Version); version != "" {
		b.version = version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	b.commit += dirty
	return b
}
