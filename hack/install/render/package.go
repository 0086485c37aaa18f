package render

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

// Package writes the chart in dir as a package that `helm install` takes, into the folder to, and returns its path. Chart and
// server get the version, without a "v" before it as charts have it; the image's tag is then that version with the "v".
func Package(dir, version, to string) (string, error) {
	c, err := loader.Load(dir)
	if err != nil {
		return "", fmt.Errorf("load the chart: %w", err)
	}
	c.Metadata.Version, c.Metadata.AppVersion = version, "v"+version
	if err := c.Validate(); err != nil {
		return "", fmt.Errorf("stamp the version %q (want one such as 1.2.3): %w", version, err)
	}
	path, err := chartutil.Save(c, to)
	if err != nil {
		return "", fmt.Errorf("write the package: %w", err)
	}
	return path, nil
}
