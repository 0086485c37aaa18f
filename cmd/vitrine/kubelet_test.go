package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
)

// startKubelet adds a node to a cluster without nodes, and returns the name of the node. The kubelet of the node supports only port
// forwarding. Until stop is called, the kubelet forwards every port of every pod to address.
func startKubelet(t *testing.T, k kube.Client, address string) (node string, stop func()) {
	t.Helper()
	stopped, stop := context.WithCancel(t.Context())
	upgrader := spdy.NewResponseUpgrader()
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			return // Handshake has sent the response
		}
		streams := make(chan httpstream.Stream, 100)
		connection := upgrader.UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			streams <- s
			return nil
		})
		if connection == nil {
			return // the upgrader has sent the response
		}
		defer connection.Close()
		for {
			select {
			case s := <-streams:
				if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
					s.Close() // an empty error stream means success
					continue
				}
				go forwardStream(s, address)
			case <-connection.CloseChan():
				return
			case <-stopped.Done():
				return
			}
		}
	}))
	t.Cleanup(kubelet.Close)
	at := kubelet.Listener.Addr().(*net.TCPAddr)
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	if err := k.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: at.IP.String()}}
	o.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(at.Port) //nolint:gosec // a port
	if err := k.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o.Name, stop
}

// forwardStream connects a stream with an address until one of them ends.
func forwardStream(s httpstream.Stream, address string) {
	defer s.Reset() //nolint:errcheck // the stream may have ended already
	target, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintln(s, err)
		return
	}
	defer target.Close()
	go func() {
		defer target.Close()
		_, _ = io.Copy(target, s) // an error also ends the copy in the other direction
	}()
	_, _ = io.Copy(s, target)
}
