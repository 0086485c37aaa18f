package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
	"github.com/vitrine-dev/vitrine/internal/exit"
)

// leads reports whether a replica runs the controllers.
func (s *instance) leads() bool {
	s.t.Helper()
	_, metrics := get(s.t, "http://"+s.addresses["metrics"]+"/metrics")
	return strings.Contains(metrics, "\nvitrine_leader 1\n")
}

// url returns the URL of a query.
func (s *instance) url(token string) string {
	return "http://" + s.addresses["http"] + "/v2/content/items?q=text:number&access_token=" + token
}

// takeover is a time limit within which another replica becomes the leader even if the previous leader did not release its lease.
const takeover = 40 * time.Second

// newReplicas starts an API server with the sample manifests. It returns a client of the API server, and a function that starts a replica.
// All replicas use the same library on OpenSearch.
func newReplicas(t *testing.T) (kube.Client, func() *instance) {
	t.Helper()
	flags := []string{
		"--library", "opensearch", "--opensearch-url", strings.Join(nodetest.URLs(t), ","), "--opensearch-index-prefix", nodetest.Prefix(t),
		"--lease-namespace", "default", "--http-bind-address", "127.0.0.1:0",
	}
	k, config := newCluster(t)
	if err := k.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	apply(t, k, []string{"../../config/samples"}, "")
	return k, func() *instance {
		t.Helper()
		return startIn(t, config, flags...)
	}
}

// TestReplicas runs replicas of the server on one OpenSearch cluster and one API server. All of them serve reads and writes, and one of
// them runs the controllers. This replica is the leader. When the leader stops, is killed or is suspended, another replica takes over.
func TestReplicas(t *testing.T) {
	k, replica := newReplicas(t)
	first, second := replica(), replica()
	within(t, takeover, "the first replica leads", first.leads)
	if second.leads() {
		t.Fatal("two replicas lead")
	}
	if a, b := authorityOf(t, first), authorityOf(t, second); a != b {
		t.Errorf("the replicas have different authorities:\n%s\n%s", a, b)
	}
	vitrine(t.Context(), "", "sweep", "--data-dir", second.dir).want(t, exit.Failed, "this replica serves content; replica ", " runs the controllers")
	vitrine(t.Context(), "", "sweep", "--data-dir", first.dir).want(t, 0, "following the cluster")

	token := tokenOf(t, k)
	status := func(s *instance) int { return s.status(token) }
	within(t, takeover, "the standby accepts the token", func() bool { return status(second) == http.StatusOK })

	// One replica immediately shows the items that the other replica has stored.
	t.Setenv("VITRINE_SERVER", "http://"+second.addresses["http"])
	t.Setenv("VITRINE_TOKEN", token)
	t.Setenv("VITRINE_CA_FILE", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	vitrine(t.Context(), itemLines(1, 3), "import", "-").want(t, 0, "3 added")
	if _, body := get(t, first.url(token)); !strings.Contains(body, `"total_results":3`) {
		t.Errorf("the leader does not show what the standby stored: %.300s", body)
	}

	ready := func(name string) func() bool {
		apply(t, k, []string{manifest.Stdin}, filterManifest(name, "query: 'text:number'"))
		return func() bool {
			f := &v1alpha1.ContentFilter{}
			return k.Get(t.Context(), kube.ObjectKey{Namespace: "shop", Name: name}, f) == nil && v1alpha1.StateOf(f).Phase == v1alpha1.PhaseReady
		}
	}
	within(t, takeover, "the leader reconciles", ready("by-first"))

	// When a leader stops, it releases the lease.
	if code := first.signal(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	within(t, takeover, "the standby takes over from a replica that stopped", second.leads)
	within(t, takeover, "the new leader reconciles", ready("by-second"))

	// A suspended leader does not know that its lease has expired.
	third := replica()
	if err := second.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	within(t, takeover, "the standby takes over from a suspended replica", third.leads)
	if code := status(third); code != http.StatusOK {
		t.Errorf("the new leader responds with %d", code)
	}
	revoked := &v1alpha1.AccessToken{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backoffice"}}
	if err := k.Delete(t.Context(), revoked); err != nil {
		t.Fatal(err)
	}
	within(t, takeover, "the leader revokes the token", func() bool { return status(third) == http.StatusForbidden })
	if err := second.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	within(t, takeover, "the deposed replica stands by", func() bool { return !second.leads() })
	within(t, takeover, "the deposed replica refuses the token", func() bool { return status(second) == http.StatusForbidden })
	if !third.leads() || status(third) != http.StatusForbidden {
		t.Error("the deposed replica leads again, or serves the deleted token")
	}

	// A killed leader does not release its lease.
	third.signal(syscall.SIGKILL)
	within(t, takeover, "the standby takes over from a killed replica", second.leads)
	within(t, takeover, "the last leader reconciles", ready("by-second-again"))
}

// fleet is the set of replicas behind a load balancer.
type fleet struct {
	mu       sync.Mutex
	replicas []*instance
	next     int
}

// pick returns the next replica other than the given one.
func (f *fleet) pick(not *instance) *instance {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		f.next++
		if s := f.replicas[f.next%len(f.replicas)]; s != not {
			return s
		}
	}
}

// replace removes old from the fleet and adds fresh, unless fresh is nil.
func (f *fleet) replace(old, fresh *instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replicas = slices.DeleteFunc(f.replicas, func(s *instance) bool { return s == old })
	if fresh != nil {
		f.replicas = append(f.replicas, fresh)
	}
}

// do sends a request, and sends it once more, to another replica, if there is no response or the response is a 5xx.
func (f *fleet) do(ctx context.Context, client *http.Client, method, path, token, body string) (failure error) {
	var replica *instance
	for range 2 {
		replica = f.pick(replica)
		req, err := http.NewRequestWithContext(ctx, method, "http://"+replica.addresses["http"]+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/x-ndjson")
		res, err := client.Do(req)
		if err != nil {
			failure = err
			continue
		}
		answer, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			failure = err
			continue
		}
		if res.StatusCode < 300 && !bytes.Contains(answer, []byte(`"status":5`)) {
			return nil
		}
		failure = fmt.Errorf("%s %s: %s %.200s", method, path, res.Status, answer)
	}
	return failure
}

// TestReplicasUnderLoad replaces all replicas one by one, and then kills the replica that runs the controllers. It checks that a client
// that retries each failed request once, on another replica, sees no failure, and that no acknowledged item is lost.
func TestReplicasUnderLoad(t *testing.T) {
	k, replica := newReplicas(t)
	f := &fleet{}
	for range 3 {
		f.replace(nil, replica())
	}
	token := tokenOf(t, k)
	for _, s := range f.replicas {
		within(t, takeover, "every replica accepts the token", func() bool { return s.status(token) == http.StatusOK })
	}

	ctx, end := context.WithCancel(t.Context())
	defer end()
	var load sync.WaitGroup
	var reads, writes atomic.Int64
	loop := func(once func(*http.Client) error, n *atomic.Int64) {
		load.Go(func() {
			client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(), Timeout: 30 * time.Second}
			pace := time.NewTicker(20 * time.Millisecond) // stay below the rate limit of 200 requests a second for each token
			defer pace.Stop()
			for ; ctx.Err() == nil; <-pace.C {
				if err := once(client); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				n.Add(1)
			}
		})
	}
	for range 2 {
		loop(func(c *http.Client) error {
			return f.do(t.Context(), c, http.MethodGet, "/v2/content/items?q=text:number", token, "")
		}, &reads)
	}
	var id atomic.Int64
	loop(func(c *http.Client) error {
		line := itemLines(int(id.Add(1)), 1)
		return f.do(t.Context(), c, http.MethodPost, "/v2/content/bulk?on_conflict=replace", token, line)
	}, &writes)

	for _, old := range slices.Clone(f.replicas) {
		fresh := replica()
		f.replace(old, fresh)
		if code := old.signal(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	var leader *instance
	within(t, takeover, "a leader", func() bool {
		i := slices.IndexFunc(f.replicas, (*instance).leads)
		if i >= 0 {
			leader = f.replicas[i]
		}
		return i >= 0
	})
	before := writes.Load()
	leader.signal(syscall.SIGKILL)
	// While the test waits, the load balancer still sends requests to the killed replica.
	within(t, takeover, "writes after the kill", func() bool { return writes.Load() > before+20 })
	f.replace(leader, nil)
	within(t, takeover, "another leader", func() bool { return slices.ContainsFunc(f.replicas, (*instance).leads) })
	end()
	load.Wait()
	t.Logf("%d reads and %d writes", reads.Load(), writes.Load())
	for _, s := range f.replicas {
		if _, body := get(t, s.url(token)); !strings.Contains(body, fmt.Sprintf(`"total_results":%d`, id.Load())) {
			t.Errorf("%d items were acknowledged: %.300s", id.Load(), body)
		}
	}
}

// status returns the status of a query with a token.
func (s *instance) status(token string) int {
	s.t.Helper()
	code, _ := get(s.t, s.url(token))
	return code
}

// tokenOf waits for the Secret of the sample token with write access, and returns its value.
func tokenOf(t *testing.T, k kube.Client) string {
	t.Helper()
	secret := &corev1.Secret{}
	within(t, takeover, "a Secret", func() bool {
		return k.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "backoffice"}, secret) == nil
	})
	return string(secret.Data["token"])
}

// authorityOf returns the certificate of the authority that a server uses.
func authorityOf(t *testing.T, s *instance) string {
	t.Helper()
	bundle, err := os.ReadFile(filepath.Join(s.dir, "tls", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(bundle)
}
