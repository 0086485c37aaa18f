package main

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// plugin is a plugin in the format of krew, https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
type plugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       pluginSpec        `json:"spec"`
}

type pluginSpec struct {
	Version          string           `json:"version"`
	Homepage         string           `json:"homepage"`
	ShortDescription string           `json:"shortDescription"`
	Description      string           `json:"description"`
	Platforms        []pluginPlatform `json:"platforms"`
}

// pluginPlatform is the archive for the platforms that the selector selects.
type pluginPlatform struct {
	Selector metav1.LabelSelector `json:"selector"`
	URI      string               `json:"uri"`
	SHA256   string               `json:"sha256"`
	Files    []pluginFile         `json:"files"`
	Bin      string               `json:"bin"`
}

// pluginFile is a file in the archive, with the directory to which krew copies it.
type pluginFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// writeKrew writes krew.yaml for the archives of the plugin.
func (r *release) writeKrew(context.Context) error {
	p := plugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "vitrine"},
		Spec: pluginSpec{
			Version: r.version, Homepage: "https://github.com/vitrine-dev/vitrine",
			ShortDescription: "Inspect a Vitrine content library",
			Description: "Inspects Vitrine, a content library for Kubernetes. Shows which objects are not ready\n" +
				"and why, which items a ContentFilter lists, why an item matches, and which tokens exist.\n" +
				"Validates manifests, and imports and exports items.\n",
		},
	}
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
		p.Spec.Platforms = append(p.Spec.Platforms, pluginPlatform{
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"os": system, "arch": arch}},
			URI:      r.downloads + "/" + archive, SHA256: sum, Bin: bin,
			Files: []pluginFile{{From: bin, To: "."}, {From: "LICENSE", To: "."}, {From: "THIRD-PARTY-NOTICES", To: "."}},
		})
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		return fmt.Errorf("write the manifest of the plugin: %w", err)
	}
	return r.write("krew.yaml", text)
}
