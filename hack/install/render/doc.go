// Package render renders the objects of an installation from both of their sources: the kustomizations below config, and the Helm chart in
// config/chart. The tests compare the results with each other and with golden files, and validate them with a real API server.
//
// A rendering depends only on its source and its options, and not on a cluster, the clock or the network.
package render
