package connect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
)

// serverPod returns a ready pod of a Service, and the port of this pod to which the HTTPS port of the Service leads.
func serverPod(ctx context.Context, k kube.Client, name types.NamespacedName) (types.NamespacedName, int, error) {
	none := types.NamespacedName{}
	service := &corev1.Service{}
	if err := k.Get(ctx, name, service); apierrors.IsNotFound(err) {
		return none, 0, fmt.Errorf("there is no Service %s: specify the server's Service with --service, or the server's URL with --server", name)
	} else if err != nil {
		return none, 0, fmt.Errorf("read Service %s: %w", name, err)
	}
	i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "https" })
	if i < 0 || len(service.Spec.Selector) == 0 {
		return none, 0, fmt.Errorf("the Service %s lacks a port named https or a selector: specify the server's Service with --service", name)
	}
	pods := &corev1.PodList{}
	if err := k.List(ctx, pods, kube.InNamespace(name.Namespace), kube.MatchingLabels(service.Spec.Selector)); err != nil {
		return none, 0, fmt.Errorf("list the pods of Service %s: %w", name, err)
	}
	for _, pod := range pods.Items {
		if !pod.DeletionTimestamp.IsZero() || !podReady(&pod) {
			continue
		}
		if port := containerPort(&pod, service.Spec.Ports[i].TargetPort); port > 0 {
			return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, port, nil
		}
	}
	return none, 0, fmt.Errorf("no pod of Service %s is ready: see kubectl -n %s get pods", name, name.Namespace)
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// containerPort returns the number of a target port of a pod, or 0 if the pod has no port with that name.
func containerPort(pod *corev1.Pod, target intstr.IntOrString) int {
	if target.Type == intstr.Int {
		return target.IntValue()
	}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == target.StrVal {
				return int(p.ContainerPort)
			}
		}
	}
	return 0
}

// forwardedPort is a port of this machine that is forwarded to a pod.
type forwardedPort struct {
	address string
	ended   chan error
}

// wait waits until the connection to the pod ends, and returns the reason.
func (f *forwardedPort) wait() error { return <-f.ended }

// forwardPort forwards any free port of this machine to a port of a pod until ctx ends.
func forwardPort(ctx context.Context, config *rest.Config, pod types.NamespacedName, port int) (*forwardedPort, error) {
	core, err := typedv1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	url := core.RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	websocket, err := portforward.NewSPDYOverWebsocketDialer(url, config)
	if err != nil {
		return nil, err
	}
	// Try WebSocket first and fall back to SPDY, as kubectl does, because older API servers and some proxies support only SPDY.
	dialer := portforward.NewFallbackDialer(websocket, spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url), func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, ctx.Done(), ready, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	f := &forwardedPort{ended: make(chan error, 1)}
	go func() { f.ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-f.ended:
		return nil, err
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return nil, err
	}
	f.address = fmt.Sprintf("127.0.0.1:%d", ports[0].Local)
	return f, nil
}

// Forward forwards a port of this machine to a pod of a Service, and returns the address on this machine. A goroutine in parts forwards the
// port until ctx ends.
func Forward(ctx context.Context, parts *errgroup.Group, config *rest.Config, k kube.Client, service types.NamespacedName) (string, error) {
	pod, port, err := serverPod(ctx, k, service)
	if err != nil {
		return "", err
	}
	forwarded, err := forwardPort(ctx, config, pod, port)
	if err != nil {
		return "", fmt.Errorf("forward a port to pod %s: %w", pod, err)
	}
	parts.Go(func() error {
		if err := forwarded.wait(); ctx.Err() == nil {
			return fmt.Errorf("lost the connection to pod %s: %w; run the command again", pod, err)
		}
		return nil
	})
	return forwarded.address, nil
}
