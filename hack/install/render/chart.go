package render

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// Release is the name and the namespace of a release of a chart.
type Release struct {
	Name      string
	Namespace string
}

// Chart renders a chart for a release. It returns the YAML documents, and the notes that Helm shows. The documents of each template follow
// a comment with the template's name. Values that do not match the schema of the chart are an error.
func Chart(c *chart.Chart, as Release, values map[string]any) (objects []byte, notes string, err error) {
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{
		Name: as.Name, Namespace: as.Namespace, Revision: 1, IsInstall: true,
	}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, "", fmt.Errorf("apply the values to the chart: %w", err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, "", fmt.Errorf("render the chart: %w", err)
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var out bytes.Buffer
	for _, name := range names {
		text := strings.TrimSpace(files[name])
		switch {
		case path.Base(name) == "NOTES.txt":
			notes = text
		case text != "" && !strings.HasPrefix(path.Base(name), "_"):
			fmt.Fprintf(&out, "---\n# Source: %s\n%s\n", name, strings.TrimPrefix(text, "---\n"))
		}
	}
	return out.Bytes(), notes, nil
}

// Values parses a file of values.
func Values(text []byte) (map[string]any, error) {
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		return nil, fmt.Errorf("read the values: %w", err)
	}
	return values, nil
}
