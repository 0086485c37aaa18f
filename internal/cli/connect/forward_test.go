package connect

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestServerPod checks which pod of a Service, and which port, serverPod returns.
func TestServerPod(t *testing.T) {
	name := types.NamespacedName{Namespace: "vitrine-system", Name: "vitrine"}
	labels := map[string]string{"app.kubernetes.io/name": "vitrine"}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "https", Port: 443, TargetPort: intstr.FromString("https")}},
	}}
	pod := func(name string, ready corev1.ConditionStatus, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: name, Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "https", ContainerPort: 8443}}}}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	numbered := service.DeepCopy()
	numbered.Spec.Ports[1].TargetPort = intstr.FromInt32(9443)
	unnamed := service.DeepCopy()
	unnamed.Spec.Ports = unnamed.Spec.Ports[:1]
	for what, c := range map[string]struct {
		objects []kube.Object
		pod     string
		port    int
		want    string
	}{
		"the ready pod":            {[]kube.Object{service, pod("a", corev1.ConditionFalse, labels), pod("b", corev1.ConditionTrue, nil), pod("c", corev1.ConditionTrue, labels)}, "c", 8443, ""},
		"a port by number":         {[]kube.Object{numbered, pod("a", corev1.ConditionTrue, labels)}, "a", 9443, ""},
		"no Service":               {nil, "", 0, "there is no Service vitrine-system/vitrine"},
		"a Service without https":  {[]kube.Object{unnamed}, "", 0, "lacks a port named https or a selector"},
		"no ready pod":             {[]kube.Object{service, pod("a", corev1.ConditionFalse, labels)}, "", 0, "no pod of Service vitrine-system/vitrine is ready"},
		"a pod that is terminated": {[]kube.Object{service, deleted(pod("a", corev1.ConditionTrue, labels))}, "", 0, "is ready"},
	} {
		t.Run(what, func(t *testing.T) {
			k := fake.NewClientBuilder().WithObjects(c.objects...).Build()
			got, port, err := serverPod(t.Context(), k, name)
			if got.Name != c.pod || port != c.port || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %d, %v; want %s, %d, %q", got, port, err, c.pod, c.port, c.want)
			}
		})
	}
}

func deleted(pod *corev1.Pod) *corev1.Pod {
	now := metav1.Now()
	pod.DeletionTimestamp, pod.Finalizers = &now, []string{"test/keep"}
	return pod
}
