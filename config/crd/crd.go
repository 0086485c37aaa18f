// Package crd embeds the CustomResourceDefinitions that are generated from api, for commands that validate manifests without a cluster.
//
// It imports only the standard library.
package crd

import "embed"

// Bases holds one YAML file for each kind, in the folder bases.
//
//go:embed bases/*.yaml
var Bases embed.FS
