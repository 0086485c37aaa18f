package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/utils/ptr"
)

// secret returns a member of the Secret that belongs to an AccessToken of the samples.
func secret(ctx context.Context, name, member string) (string, error) {
	s, err := typed.CoreV1().Secrets(shop).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the token's Secret: %w", err)
	}
	if len(s.Data[member]) == 0 {
		return "", fmt.Errorf("the Secret %s has no %s", name, member)
	}
	return string(s.Data[member]), nil
}

// call sends a request to a pod over a forwarded port, as a caller outside of the cluster would. token is the name of the AccessToken whose
// token call sends, or "" to send no token. call verifies the server's certificate with the authority in the token's Secret, for the name
// of the Service.
func call(ctx context.Context, pod *corev1.Pod, method, path, token, body string) (status int, answer []byte, err error) {
	value := ""
	if token != "" {
		if value, err = secret(ctx, token, "token"); err != nil {
			return 0, nil, err
		}
	}
	authority, err := secret(ctx, "backoffice", "ca.crt")
	if err != nil {
		return 0, nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority))
	verify := &tls.Config{RootCAs: roots, ServerName: strings.TrimPrefix(server, "https://"), MinVersion: tls.VersionTLS12}
	return over(ctx, pod, verify, 8443, method, path, value, body)
}

// page requests a path on a port of a pod, such as the port of the probes, that no Service exposes.
func page(ctx context.Context, pod *corev1.Pod, port int, path string) (status int, answer []byte, err error) {
	return over(ctx, pod, nil, port, http.MethodGet, path, "", "")
}

// over forwards a port and sends one request through it.
func over(ctx context.Context, pod *corev1.Pod, verify *tls.Config, port int, method, path, token, body string) (status int, answer []byte, err error) {
	local, stop, err := forward(ctx, pod, port)
	if err != nil {
		return 0, nil, fmt.Errorf("forward a port: %w", err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	transport, protocol := &http.Transport{TLSClientConfig: verify}, "http"
	defer transport.CloseIdleConnections()
	if verify != nil {
		protocol = "https"
	}
	req, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("%s://127.0.0.1:%d%s", protocol, local, path), strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// forward forwards a port of a pod to this machine until stop is called.
func forward(ctx context.Context, pod *corev1.Pod, port int) (local uint16, stop func(), err error) {
	transport, upgrader, err := spdy.RoundTripperFor(access)
	if err != nil {
		return 0, nil, err
	}
	url := typed.CoreV1().RESTClient().Post().Resource("pods").Namespace(system).Name(pod.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	ended, ready, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, ended, ready, io.Discard, io.Discard)
	if err != nil {
		return 0, nil, err
	}
	go func() { failed <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-failed:
		return 0, nil, err
	case <-ctx.Done():
		close(ended)
		return 0, nil, ctx.Err()
	}
	stop = func() {
		close(ended)
		<-failed //nolint:errcheck // ignore the error: the forwarding ended because stop was called
	}
	ports, err := f.GetPorts()
	if err != nil {
		stop()
		return 0, nil, err
	}
	return ports[0].Local, stop, nil
}

// inPod runs a command in the server's container and returns its output.
func inPod(ctx context.Context, command ...string) (string, error) {
	pod, err := readyPod(ctx)
	if err != nil {
		return "", err
	}
	req := typed.CoreV1().RESTClient().Post().Resource("pods").Namespace(system).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	e, err := remotecommand.NewWebSocketExecutor(access, http.MethodGet, req.URL().String())
	if err != nil {
		return "", err
	}
	var out, said bytes.Buffer // use separate buffers, because different goroutines write standard output and standard error
	err = e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &said})
	return out.String() + said.String(), err
}

// total requests a list from a pod and returns its total.
func total(ctx context.Context, pod *corev1.Pod, path, token string) (int, error) {
	status, answer, err := call(ctx, pod, http.MethodGet, path, token, "")
	if err != nil {
		return 0, err
	}
	var list struct {
		Total *int `json:"total_results"`
	}
	if err := json.Unmarshal(answer, &list); err != nil || status != http.StatusOK || list.Total == nil {
		return 0, fmt.Errorf("%s: the response is not a list, status %d: %s", path, status, answer)
	}
	return *list.Total, nil
}

// job runs a vitrine command as a client in the cluster and returns its output. It uses the image of the server, in a restricted pod in the
// namespace of the samples, with the Secret of an AccessToken. args are the arguments of the command.
func job(ctx context.Context, name string, args ...string) string {
	GinkgoHelper()
	args = append(args, "--token-file=/token/token", "--ca-file=/token/ca.crt")
	pod := corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		AutomountServiceAccountToken: ptr.To(false),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), FSGroup: ptr.To[int64](65532),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "client", Image: *imageFlag, ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
			// The command import stores its position below HOME, so HOME must be writable.
			Env: []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
	for volume, source := range map[string]corev1.VolumeSource{
		"token": {Secret: &corev1.SecretVolumeSource{SecretName: "backoffice"}},
		"items": {ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "items"}}},
		"tmp":   {EmptyDir: &corev1.EmptyDirVolumeSource{}},
	} {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volume, VolumeSource: source})
		c := &pod.Containers[0]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/" + volume, ReadOnly: volume != "tmp"})
	}
	jobs := typed.BatchV1().Jobs(shop)
	_, err := jobs.Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: shop},
		Spec:       batchv1.JobSpec{BackoffLimit: ptr.To[int32](0), Template: corev1.PodTemplateSpec{Spec: pod}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	var ended batchv1.JobStatus
	Eventually(ctx, func(g Gomega) {
		j, err := jobs.Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		ended = j.Status
		g.Expect(ended.Succeeded+ended.Failed).To(BeNumerically(">", 0), "pods of the Job %s that have ended", name)
	}).Should(Succeed())
	pods, err := typed.CoreV1().Pods(shop).List(ctx, metav1.ListOptions{LabelSelector: "job-name=" + name})
	Expect(err).NotTo(HaveOccurred())
	Expect(pods.Items).NotTo(BeEmpty())
	text, err := typed.CoreV1().Pods(shop).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(ended.Failed).To(BeZero(), "vitrine %s: %s", strings.Join(args, " "), text)
	return string(text)
}
