package render

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

// Package writes the chart in dir as a package for `helm install` to the folder to, and returns its path. version is a semantic
// version, with or without a leading "v". The chart's version omits the "v", the server's version includes it. The image tag is the
// server's version, with "_" instead of "+", which tags cannot contain.
func Package(dir, version, to string) (string, error) {
	c, err := loader.Load(dir)
	if err != nil {
		return "", fmt.Errorf("load the chart: %w", err)
	}
	parsed, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	if err != nil {
		return "", fmt.Errorf("version %q: must be a semantic version such as 1.2.3: %w", version, err)
	}
	c.Metadata.Version, c.Metadata.AppVersion = parsed.String(), "v"+parsed.String()
	path, err := chartutil.Save(c, to)
	if err != nil {
		return "", fmt.Errorf("write the package: %w", err)
	}
	return path, nil
}
