package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
)

// answer is what came back.
type answer struct {
	status int
	body   []byte
}

// secret reads a member of the Secret that belongs to an AccessToken of the samples.
func (w *world) secret(ctx context.Context, name, member string) (string, error) {
	s, err := w.typed.CoreV1().Secrets(shop).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the token's Secret: %w", err)
	}
	if len(s.Data[member]) == 0 {
		return "", fmt.Errorf("the Secret %s has no %s", name, member)
	}
	return string(s.Data[member]), nil
}

// call asks the server over a forwarded port as somebody outside of the cluster would, with the token of an AccessToken
// ("" for none). The certificate has to be one that the token's Secret vouches for, for the name of the Service.
func (w *world) call(ctx context.Context, method, path, token string, body []byte) (answer, error) {
	value := ""
	authority, err := w.secret(ctx, "backoffice", "ca.crt")
	if err != nil {
		return answer{}, err
	}
	if token != "" {
		if value, err = w.secret(ctx, token, "token"); err != nil {
			return answer{}, err
		}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(authority)) {
		return answer{}, errors.New("the ca.crt of the Secret is no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: strings.TrimPrefix(server, "https://"), MinVersion: tls.VersionTLS12}}
	return w.over(ctx, transport, "https", 8443, method, path, value, body)
}

// page reads one of the server's own addresses, which no Service offers.
func (w *world) page(ctx context.Context, port int, path string) (answer, error) {
	return w.over(ctx, &http.Transport{}, "http", port, http.MethodGet, path, "", nil)
}

// over makes one request through a port that is forwarded for it.
func (w *world) over(ctx context.Context, transport *http.Transport, scheme string, port int, method, path, token string, body []byte) (answer, error) {
	defer transport.CloseIdleConnections()
	local, stop, err := w.forward(ctx, port)
	if err != nil {
		return answer{}, err
	}
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, local, path), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, text}, err
}

// forward makes a port of the pod one of this machine, until stop.
func (w *world) forward(ctx context.Context, port int) (local uint16, stop func(), err error) {
	pod, err := w.pod(ctx)
	if err != nil {
		return 0, nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(w.access)
	if err != nil {
		return 0, nil, fmt.Errorf("forward a port: %w", err)
	}
	at := w.typed.CoreV1().RESTClient().Post().Resource("pods").Namespace(system).Name(pod.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
	ended, ready, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, ended, ready, io.Discard, io.Discard)
	if err != nil {
		return 0, nil, fmt.Errorf("forward a port: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		failed <- f.ForwardPorts()
	}()
	select {
	case <-ready:
	case err := <-failed:
		return 0, nil, fmt.Errorf("forward a port: %w", err)
	case <-ctx.Done():
		close(ended)
		return 0, nil, ctx.Err()
	}
	ports, err := f.GetPorts()
	if err != nil {
		close(ended)
		return 0, nil, fmt.Errorf("forward a port: %w", err)
	}
	stop = func() {
		close(ended)
		<-done
	}
	return ports[0].Local, stop, nil
}

// exec runs a command in the server's container and returns what it printed.
func (w *world) exec(ctx context.Context, command ...string) (string, error) {
	pod, err := w.pod(ctx)
	if err != nil {
		return "", err
	}
	req := w.typed.CoreV1().RESTClient().Post().Resource("pods").Namespace(system).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	e, err := remotecommand.NewWebSocketExecutor(w.access, http.MethodGet, req.URL().String())
	if err != nil {
		return "", fmt.Errorf("run %s in the pod: %w", command[0], err)
	}
	var out, said bytes.Buffer
	if err := e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &said}); err != nil {
		return "", fmt.Errorf("run %s in the pod: %w: %s", command[0], err, said.String())
	}
	return out.String(), nil
}

// total returns how many items a list says it has.
func (w *world) total(ctx context.Context, path, token string) (int, error) {
	a, err := w.call(ctx, http.MethodGet, path, token, nil)
	if err != nil {
		return 0, err
	}
	var list struct {
		Total *int `json:"total_results"`
	}
	if a.status != http.StatusOK {
		return 0, fmt.Errorf("%s: status %d: %s", path, a.status, a.body)
	}
	if err := json.Unmarshal(a.body, &list); err != nil || list.Total == nil {
		return 0, fmt.Errorf("%s: no list: %s", path, a.body)
	}
	return *list.Total, nil
}
