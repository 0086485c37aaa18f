// Package crd holds the CustomResourceDefinitions that are generated from api, as a cluster gets them: for commands that
// judge manifests without a cluster.
//
// It imports nothing.
package crd

import "embed"

// Bases holds one YAML file a kind, in the folder bases.
//
//go:embed bases/*.yaml
var Bases embed.FS
