package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/hack/install/image"
	"github.com/vitrine-dev/vitrine/hack/install/render"
)

const (
	system = "vitrine-system" // where the server is
	shop   = "shop"           // where config/samples are, and the clients
	other  = "elsewhere"      // a namespace that a namespaced install must leave alone
	server = "https://vitrine.vitrine-system.svc"

	owner = client.FieldOwner("vitrine-e2e")
	// patience is how long anything that a cluster does by itself may take.
	patience = 2 * time.Minute
	// prompt is how long a deletion may take that nothing may hold up.
	prompt = time.Minute
	// sampleItems are imported.
	sampleItems = 200
)

// world is the cluster, and what is installed into it.
type world struct {
	image  image.Reference
	config string
	items  []byte

	access *rest.Config
	kube   client.Client
	typed  kubernetes.Interface
	began  time.Time
}

func newWorld(at image.Reference, config, items string) (*world, error) {
	w := &world{image: at, config: config, began: time.Now()}
	text, err := os.ReadFile(items)
	if err != nil {
		return nil, fmt.Errorf("read the items: %w", err)
	}
	lines := bytes.SplitAfterN(text, []byte("\n"), sampleItems+1)
	if len(lines) <= sampleItems {
		return nil, fmt.Errorf("%s has fewer than %d items", items, sampleItems)
	}
	w.items = bytes.Join(lines[:sampleItems], nil)
	// KUBECONFIG and nothing else: whatever cluster was used last must not come to harm.
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return nil, errors.New("KUBECONFIG is not set: name the cluster to install into")
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(path)}
	if w.access, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig(); err != nil {
		return nil, fmt.Errorf("read KUBECONFIG: %w", err)
	}
	w.access.QPS, w.access.Burst = 100, 200
	if w.kube, err = client.New(w.access, client.Options{}); err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	if w.typed, err = kubernetes.NewForConfig(w.access); err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return w, nil
}

// kustomization renders one of config's.
func (w *world) kustomization(name string) ([]*unstructured.Unstructured, error) {
	text, err := render.Kustomize(filepath.Join(w.config, name), w.image)
	if err != nil {
		return nil, err
	}
	return render.Objects(text)
}

// apply applies objects on the server's side. One whose kind has just been defined is tried again for a moment.
func (w *world) apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, o := range objects {
		err := eventually(ctx, 20*time.Second, func() error {
			err := w.kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), owner, client.ForceOwnership)
			if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
				return final{err}
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// object reads one object.
func (w *world) object(ctx context.Context, version, kind, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	return o, w.kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
}

// absent fails when an object is there.
func (w *world) absent(ctx context.Context, version, kind, namespace, name string) error {
	_, err := w.object(ctx, version, kind, namespace, name)
	if err == nil {
		return fmt.Errorf("the %s %s is there", kind, name)
	}
	return client.IgnoreNotFound(err)
}

// remove deletes an object that lies in no namespace, and says when it is gone. One that is not there is gone.
func (w *world) remove(ctx context.Context, version, kind, name string) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	o.SetName(name)
	gone := func(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
	if err := w.kube.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil && !gone(err) {
		return fmt.Errorf("delete %s %s: %w", kind, name, err)
	}
	return eventually(ctx, prompt, func() error {
		err := w.kube.Get(ctx, client.ObjectKeyFromObject(o), o)
		if gone(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("%s %s is still there, with finalizers %v", kind, name, o.GetFinalizers())
		}
		return err
	})
}

// namespace makes a namespace that admits restricted pods alone.
func (w *world) namespace(ctx context.Context, name string) error {
	return w.apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name, "labels": map[string]any{
			"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
		}},
	}})
}

// rolledOut waits until the Deployment runs as its manifest says, and returns its pod.
func (w *world) rolledOut(ctx context.Context) (*corev1.Pod, error) {
	var pod *corev1.Pod
	err := eventually(ctx, patience, func() error {
		d, err := w.typed.AppsV1().Deployments(system).Get(ctx, "vitrine", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ObservedGeneration != d.Generation || d.Status.UpdatedReplicas != 1 || d.Status.AvailableReplicas != 1 || d.Status.Replicas != 1 {
			return fmt.Errorf("the Deployment has %d pods, %d updated, %d available", d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas)
		}
		pod, err = w.pod(ctx)
		return err
	})
	return pod, err
}

// pod returns the one pod of the server that is ready and stays.
func (w *world) pod(ctx context.Context) (*corev1.Pod, error) {
	list, err := w.typed.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=vitrine"})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		p := &list.Items[i]
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil {
				return p, nil
			}
		}
	}
	return nil, fmt.Errorf("none of %d pods is ready", len(list.Items))
}

// final wraps an error that waiting does not cure.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// eventually tries until it succeeds; what the last try said is the error.
func eventually(ctx context.Context, within time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		if f := (final{}); errors.As(err, &f) {
			return f.error
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", within, err)
		case <-tick.C:
		}
	}
}

// describe writes what helps to find out why a step failed: pods, events, and what the server logged.
func (w *world) describe(to io.Writer) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, ns := range []string{system, shop} {
		pods, err := w.typed.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			fmt.Fprintf(to, "list the pods of %s: %v\n", ns, err)
			return
		}
		for _, p := range pods.Items {
			fmt.Fprintf(to, "--- pod %s/%s: %s\n", ns, p.Name, p.Status.Phase)
			for _, s := range p.Status.ContainerStatuses {
				fmt.Fprintf(to, "%s: %d restarts, %+v, before that %+v\n", s.Name, s.RestartCount, s.State, s.LastTerminationState)
			}
			tail := int64(20)
			text, err := w.typed.CoreV1().Pods(ns).GetLogs(p.Name, &corev1.PodLogOptions{TailLines: &tail}).DoRaw(ctx)
			for line := range bytes.Lines(text) {
				fmt.Fprintf(to, "%.400s\n", bytes.TrimRight(line, "\n"))
			}
			if err != nil {
				fmt.Fprintf(to, "no logs: %v\n", err)
			}
		}
		events, err := w.typed.CoreV1().Events(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for _, e := range events.Items {
			if e.Type != corev1.EventTypeNormal {
				fmt.Fprintf(to, "event on %s %s: %s: %s\n", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
			}
		}
	}
}

// job runs the server's own image as a client within the cluster: a restricted pod in the namespace of the samples, with
// the Secret of an AccessToken, whose arguments are those of a vitrine command. It returns what the command printed.
func (w *world) job(ctx context.Context, name, secret string, args ...string) (string, error) {
	yes, no := true, false
	uid, retries := int64(65532), int32(0)
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: shop},
		Spec: batchv1.JobSpec{BackoffLimit: &retries, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: &no,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &uid, FSGroup: &uid, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "client", Image: w.image.String(), ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
				// How far an import came is kept below HOME.
				Env: []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "token", MountPath: "/token", ReadOnly: true}, {Name: "items", MountPath: "/items", ReadOnly: true}, {Name: "tmp", MountPath: "/tmp"},
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "token", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}},
				{Name: "items", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "items"}}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		}}},
	}
	jobs := w.typed.BatchV1().Jobs(shop)
	if _, err := jobs.Create(ctx, j, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("make the Job %s: %w", name, err)
	}
	failed := false
	err := eventually(ctx, patience, func() error {
		is, err := jobs.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if is.Status.Succeeded+is.Status.Failed == 0 {
			return fmt.Errorf("the Job %s has not ended", name)
		}
		failed = is.Status.Failed > 0
		return nil
	})
	if err != nil {
		return "", err
	}
	pods, err := w.typed.CoreV1().Pods(shop).List(ctx, metav1.ListOptions{LabelSelector: "job-name=" + name})
	if err != nil {
		return "", fmt.Errorf("find the pod of the Job %s: %w", name, err)
	}
	if len(pods.Items) == 0 {
		return "", fmt.Errorf("the Job %s has no pod", name)
	}
	text, err := w.typed.CoreV1().Pods(shop).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read what the Job %s printed: %w", name, err)
	}
	if failed {
		return "", fmt.Errorf("vitrine %s failed: %s", strings.Join(args, " "), text)
	}
	return string(text), nil
}
