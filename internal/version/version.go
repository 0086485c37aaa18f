// Package version reports which version of Vitrine the binary contains. It imports nothing from this project.
package version

import (
	"cmp"
	"runtime/debug"
)

// released is the version of a release; hack/image sets it with the linker. In other binaries, released is "", and the binary reports the
// version that the Go toolchain derives from the Git repository.
var released string

// Info is the build information in the binary.
type Info struct {
	// Version is a tag or a pseudo-version, or "unknown".
	Version string
	// Commit is the Git commit, followed by "+changes" if the tree was dirty, or "unknown".
	Commit string
}

// Get returns the build information in the binary.
func Get() Info {
	b := Info{Version: "unknown", Commit: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if version := cmp.Or(released, info.Main.Version); version != "" {
		b.Version = version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	b.Commit += dirty
	return b
}
