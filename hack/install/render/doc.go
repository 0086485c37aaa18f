// Package render renders the objects of an installation from each of its sources: the kustomizations below config and the Helm
// chart in config/chart. Its tests compare the two with each other and with golden files, and validate them with a real API server.
//
// A rendering depends only on its sources and options: no cluster, no clock, no network.
package render
