// Package render makes the objects of an install from each of its sources: the kustomizations below config and the Helm
// chart in config/chart. Its tests hold the two against each other, against golden files, and against a real API server.
//
// A rendering depends on its sources and options alone: no cluster, no clock, no network.
package render
