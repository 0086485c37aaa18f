// Package scale measures the operator with a thousand and with ten thousand objects against a real API server, and writes docs/scale.md:
//
//	make scale [CHECK=1]
//
// The benchmark starts kube-apiserver and etcd from the directory in KUBEBUILDER_ASSETS. It builds the operator from this tree and starts it
// as a separate process. It compares the speed of the operator with that of a bare client in the same run, because the speed of machines
// varies. The numbers of writes are exact, because the API server counts them. kube-burner was refused, because it measures the cluster,
// and neither the writes of one client nor the pages that the content server serves.
package scale
