package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// replicas is the number of replicas of the specs with OpenSearch.
const replicas = 2

func replicaSpecs() {
	BeforeAll(func() {
		if os.Getenv("OPENSEARCH_URL") == "" {
			Skip("DID NOT RUN: set OPENSEARCH_URL to an OpenSearch node without security that the pods of the cluster can reach")
		}
	})
	It("starts in a cluster without remains of an earlier run", expectVacant)
	It("prepares the credentials and the certificate authority of the cluster, which one without security does not check", func(ctx context.Context) {
		Expect(shell(ctx, `
			set -eu
			echo secret >password.txt
			kubectl -n default get configmap kube-root-ca.crt -o jsonpath='{.data.ca\.crt}' >opensearch-ca.crt`)).To(Succeed())
	})
	itRuns("docs/opensearch.md", "Install")
	It("installs the chart with replicas and without a volume", func(ctx context.Context) {
		helmInstall(ctx, onOpenSearch())
		pods, err := readyPods(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(HaveLen(replicas))
		claims, err := typed.CoreV1().PersistentVolumeClaims(system).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(claims.Items).To(BeEmpty())
	})
	It("runs the controllers in one replica", func(ctx context.Context) { expectLeader(ctx, nil) })
	It("makes the samples Ready", applySamples)
	itRuns("docs/opensearch.md", "Replicas")
	It("imports items from a client pod over the Service, whose replicas have one certificate authority", importItems)
	It("lists a filter from every replica", readFilter)
	It("exports the items to a client pod during a roll-out, and keeps them", func(ctx context.Context) {
		before := expectLeader(ctx, nil)
		rollOut(ctx, before)
		exportItems(ctx, "export-roll-out", server)
		rolledOut(ctx, before)
		readFilter(ctx)
	})
	It("runs the controllers in another replica when the first one is killed", func(ctx context.Context) {
		before := expectLeader(ctx, nil)
		kill(ctx, before)
		exportItems(ctx, "export-killed", server)
		expectLeader(ctx, before)
		later := object(group, "ContentFilter", shop, "later")
		later.Object["spec"] = map[string]any{"query": "approval_status:app"}
		apply(ctx, later)
		expectReady(ctx, later)
		rolledOut(ctx, before)
		readFilter(ctx)
	})
	It("grants the server's account the shared Lease and Secret and nothing else", func(ctx context.Context) {
		expectGrants(ctx, Default, account, accountGroups, `
			yes create coordination.k8s.io/leases in vitrine-system
			yes update coordination.k8s.io/leases in vitrine-system named vitrine
			yes update /secrets in vitrine-system named vitrine-authority
			no update coordination.k8s.io/leases in vitrine-system named other
			no list coordination.k8s.io/leases in vitrine-system
			no delete coordination.k8s.io/leases in vitrine-system named vitrine
			no create coordination.k8s.io/leases in shop`)
	})
	It("is deleted without delay", func(ctx context.Context) {
		remove(ctx, namespace(shop))
		helmUninstall()
		remove(ctx, append(crds(), namespace(system))...)
	})
}

// onOpenSearch returns the values of a release with replicas. Each run has its own index prefix, because the indices of an earlier run may
// still be in the cluster.
func onOpenSearch() map[string]any {
	GinkgoHelper()
	address, err := url.Parse(os.Getenv("OPENSEARCH_URL"))
	Expect(err).NotTo(HaveOccurred())
	port, err := strconv.Atoi(address.Port())
	Expect(err).NotTo(HaveOccurred(), "the port of OPENSEARCH_URL")
	return map[string]any{
		"library": "opensearch", "replicas": replicas,
		"opensearch": map[string]any{
			"urls": []any{address.String()}, "allowPlaintext": address.Scheme == "http", "indexPrefix": "e2e-" + strings.ToLower(rand.Text()),
			"credentialsSecret": map[string]any{"name": "vitrine-opensearch"}, "caSecret": map[string]any{"name": "vitrine-opensearch"},
		},
		"networkPolicy": map[string]any{"opensearchPorts": []any{port}},
	}
}

// expectLeader waits until exactly one replica runs the controllers, and returns its pod. If before is not nil, the leader must be another
// pod.
func expectLeader(ctx context.Context, before *corev1.Pod) (leader *corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods, err := readyPods(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, pod := range pods {
			status, metrics, err := page(ctx, pod, 9090, "/metrics")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status).To(Equal(http.StatusOK))
			if bytes.Contains(metrics, []byte("\nvitrine_leader 1\n")) {
				leader, names = pod, append(names, pod.Name)
			}
		}
		g.Expect(names).To(HaveLen(1), "replicas that run the controllers")
		if before != nil {
			g.Expect(leader.UID).NotTo(Equal(before.UID))
		}
	}).Should(Succeed())
	return leader
}
