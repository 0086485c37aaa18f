package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

// Package writes the chart in dir as a package for `helm install`, and returns the path of the package. The parameter to is the folder of
// the package. version is a semantic version, with or without a leading "v". In the package, the chart's version has no leading "v", and
// the server's version has one. The image tag is the server's version, with "_" instead of "+", which tags cannot contain. If repository is
// not "", it becomes the default of the value image.repository. The same arguments and the same chart always result in the same bytes.
func Package(dir, version, repository, to string) (string, error) {
	c, err := loader.Load(dir)
	if err != nil {
		return "", fmt.Errorf("load the chart: %w", err)
	}
	parsed, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	if err != nil {
		return "", fmt.Errorf("version %q: must be a semantic version such as 0.1.0: %w", version, err)
	}
	c.Metadata.Version, c.Metadata.AppVersion = parsed.String(), "v"+parsed.String()
	if repository != "" {
		if err := setRepository(c, repository); err != nil {
			return "", err
		}
	}
	path, err := chartutil.Save(c, to)
	if err != nil {
		return "", fmt.Errorf("write the package: %w", err)
	}
	return path, stopClock(path)
}

// setRepository replaces the default of image.repository in the text of values.yaml. It edits the raw text, because chartutil.Save writes
// that text, with its comments, and not the parsed values.
func setRepository(c *chart.Chart, repository string) error {
	const line = "\n  repository: vitrine\n"
	for _, f := range c.Raw {
		if f.Name == chartutil.ValuesfileName && bytes.Count(f.Data, []byte(line)) == 1 {
			f.Data = bytes.Replace(f.Data, []byte(line), []byte("\n  repository: "+repository+"\n"), 1)
			return nil
		}
	}
	return fmt.Errorf("values.yaml of the chart must contain the line %q exactly once", line)
}

// stopClock sets the times in a package to 1970. Helm writes the current time, so the same chart would result in different bytes.
func stopClock(path string) error {
	packed, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	unzip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	zip.Header = unzip.Header
	from, to := tar.NewReader(unzip), tar.NewWriter(zip)
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			h.ModTime = time.Unix(0, 0)
			err = to.WriteHeader(h)
		}
		if err == nil {
			_, err = io.Copy(to, from)
		}
		if err != nil {
			return fmt.Errorf("repack the package: %w", err)
		}
	}
	if err := errors.Join(to.Close(), zip.Close(), os.WriteFile(path, out.Bytes(), 0o644)); err != nil {
		return fmt.Errorf("repack the package: %w", err)
	}
	return nil
}
