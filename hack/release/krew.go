package main

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// writeKrew writes krew.yaml for the archives of the plugin, see https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
func (r *release) writeKrew(context.Context) error {
	var platforms []any
	for platform := range strings.SplitSeq(r.platforms, ",") {
		system, arch, _ := strings.Cut(platform, "/")
		archive, bin := fmt.Sprintf("kubectl-vitrine_%s_%s_%s", r.version, system, arch), "kubectl-vitrine"
		if system == "windows" {
			archive, bin = archive+".zip", bin+".exe"
		} else {
			archive += ".tar.gz"
		}
		sum, err := r.sum(archive)
		if err != nil {
			return err
		}
		var files []any
		for _, name := range []string{bin, "LICENSE", "THIRD-PARTY-NOTICES"} {
			files = append(files, map[string]string{"from": name, "to": "."})
		}
		platforms = append(platforms, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"os": system, "arch": arch}},
			"uri":      r.downloads + "/" + archive, "sha256": sum, "bin": bin, "files": files,
		})
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": map[string]string{"name": "vitrine"},
		"spec": map[string]any{
			"version": r.version, "homepage": "https://github.com/vitrine-dev/vitrine", "platforms": platforms,
			"shortDescription": "Inspect a Vitrine content library",
			"description": "Inspects Vitrine, a content library for Kubernetes. Shows which objects are not ready\n" +
				"and why, which items a ContentFilter lists, why an item matches, and which tokens exist.\n" +
				"Validates manifests, and imports and exports items.\n",
		},
	})
	if err != nil {
		return fmt.Errorf("write the manifest of the plugin: %w", err)
	}
	return r.write("krew.yaml", text)
}
