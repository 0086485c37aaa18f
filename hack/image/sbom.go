package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licenseclassifier/v2/assets"
)

// bill returns the software bill of materials of a module and the parts that are linked into its binaries. The document has no timestamp
// and no serial number, so the same binaries always produce the same bytes.
func bill(module debug.Module, parts []part) ([]byte, error) {
	classifier, err := assets.DefaultClassifier()
	if err != nil {
		return nil, fmt.Errorf("load the license classifier: %w", err)
	}
	main := component(cyclonedx.ComponentTypeApplication, module.Path, module.Version, []string{"Apache-2.0"})
	var components []cyclonedx.Component
	var refs []string
	for _, p := range parts {
		var licenses []string
		for _, t := range p.texts {
			for _, m := range classifier.Match(t.content).Matches {
				if m.MatchType == "License" && !slices.Contains(licenses, m.Name) {
					licenses = append(licenses, m.Name)
				}
			}
		}
		slices.Sort(licenses)
		c := component(cyclonedx.ComponentTypeLibrary, p.path, p.version, licenses)
		if p.sum != "" {
			digest, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.sum, "h1:"))
			if err != nil {
				return nil, fmt.Errorf("read the checksum of %s: %w", p.path, err)
			}
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(digest)}}
		}
		components = append(components, c)
		refs = append(refs, c.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("write the bill of materials: %w", err)
	}
	return out.Bytes(), nil
}

// component returns the entry of a module, with the SPDX identifiers of its licenses.
func component(kind cyclonedx.ComponentType, path, version string, licenses []string) cyclonedx.Component {
	url := "pkg:golang/" + path
	if version == "(devel)" { // a binary that was built outside of a Git repository has no version
		version = ""
	} else {
		url += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	c := cyclonedx.Component{BOMRef: url, Type: kind, Name: path, Version: version, PackageURL: url}
	if len(licenses) > 0 {
		all := cyclonedx.Licenses{}
		for _, id := range licenses {
			all = append(all, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
		}
		c.Licenses = &all
	}
	return c
}
