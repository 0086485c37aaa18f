// Package nodetest provides an OpenSearch cluster for tests, and a proxy that injects faults. The environment variable OPENSEARCH_URL can
// contain the comma-separated URLs of a running cluster. Otherwise, if VITRINE_OPENSEARCH is set (as in make opensearch), the first test
// starts a node of the version OPENSEARCH_VERSION. Without a cluster, tests are skipped with a message.
//
// It may import hack/opensearch/node.
package nodetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node"
)

// shared is the cluster of all tests of a package.
var shared struct {
	once sync.Once
	urls []string
	node *node.Node
	dir  string // directory of the node
	err  error
}

// Run runs the tests of a package, stops the node that they have started, and returns the exit code.
func Run(m *testing.M) int {
	code := m.Run()
	if shared.node != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := shared.node.Stop(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := os.RemoveAll(shared.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// URLs returns the addresses of the cluster. It skips the test if there is no cluster.
func URLs(t testing.TB) []string {
	t.Helper()
	shared.once.Do(provide)
	check(t, shared.err)
	if len(shared.urls) == 0 {
		t.Skip("DID NOT RUN: run make opensearch, or set OPENSEARCH_URL to use a running cluster")
	}
	return shared.urls
}

func provide() {
	s := &shared
	if given := os.Getenv("OPENSEARCH_URL"); given != "" {
		s.urls = strings.Split(given, ",")
		return
	}
	if os.Getenv("VITRINE_OPENSEARCH") == "" {
		return
	}
	if s.dir, s.err = os.MkdirTemp("", "opensearch-"); s.err != nil {
		return
	}
	o := node.Options{Dir: s.dir, Version: os.Getenv("OPENSEARCH_VERSION")}
	if s.node, s.err = node.Start(context.Background(), o); s.err == nil {
		s.urls = []string{s.node.URL}
	}
}

// Lucene returns the path of java and the jars of node.Lucene. It skips the test if they are not available.
func Lucene(t testing.TB) (java string, jars []string) {
	t.Helper()
	java, jars, err := node.Lucene(t.Context())
	check(t, err)
	return java, jars
}

// check skips the test if err means that a program is not available here, and fails the test after any other error.
func check(t testing.TB, err error) {
	t.Helper()
	if absent, ok := errors.AsType[*node.AbsentError](err); ok {
		t.Skipf("DID NOT RUN: %v", absent)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Cluster is a cluster of several nodes that belongs to one test.
type Cluster struct {
	t       testing.TB
	options node.Options
	nodes   []*node.Node
}

// started calls start, which starts nodes, and stops these nodes at the end of the test. It does not stop a node whose element in the
// returned slice the caller has set to nil. It skips the test unless VITRINE_OPENSEARCH is set.
func started(t testing.TB, start func() ([]*node.Node, error)) []*node.Node {
	t.Helper()
	if os.Getenv("VITRINE_OPENSEARCH") == "" {
		t.Skip("DID NOT RUN: run make opensearch, which starts the nodes that this test needs")
	}
	nodes, err := start()
	check(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, running := range nodes {
			if running != nil {
				if err := running.Stop(ctx); err != nil {
					t.Error(err)
				}
			}
		}
	})
	return nodes
}

// NewCluster starts a cluster of n nodes, each with a Java heap of this size, such as 512m, and stops it at the end of the test. It skips the
// test unless VITRINE_OPENSEARCH is set.
func NewCluster(t testing.TB, n int, heap string) *Cluster {
	t.Helper()
	// The cluster uses the ports from Port to Port+n-1 and from Port+100 to Port+99+n. Choose Port at random, so that clusters rarely
	// collide.
	port, err := rand.Int(rand.Reader, big.NewInt(8000))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := &Cluster{t: t, options: node.Options{
		Dir: dir, Version: os.Getenv("OPENSEARCH_VERSION"), Heap: heap, Port: 21000 + int(port.Int64()),
		// Detect faults faster: by default, the cluster excludes a node only after the node has not responded for 30 seconds.
		Settings: []string{
			"path.repo=" + filepath.Join(dir, "snapshots"),
			"cluster.fault_detection.follower_check.timeout=2s", "cluster.fault_detection.follower_check.retry_count=2",
			"cluster.fault_detection.leader_check.timeout=2s", "cluster.fault_detection.leader_check.retry_count=2",
		},
	}}
	c.nodes = started(t, func() ([]*node.Node, error) { return node.StartCluster(t.Context(), c.options, n) })
	return c
}

// URLs returns the addresses of all nodes.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.nodes))
	for i := range urls {
		urls[i] = fmt.Sprintf("http://127.0.0.1:%d", c.options.Port+i)
	}
	return urls
}

// Dir returns the directory with the files of all nodes.
func (c *Cluster) Dir() string { return c.options.Dir }

// Snapshots returns the directory in which the nodes may store snapshots.
func (c *Cluster) Snapshots() string { return filepath.Join(c.options.Dir, "snapshots") }

// Name returns the name of node i in the cluster.
func (c *Cluster) Name(i int) string { return fmt.Sprintf("n%d", i+1) }

// Kill ends node i immediately.
func (c *Cluster) Kill(i int) {
	c.t.Helper()
	if err := c.nodes[i].Kill(); err != nil {
		c.t.Error(err)
	}
	c.nodes[i] = nil
}

// Suspend suspends node i until resume is called, as if its virtual machine were paused.
func (c *Cluster) Suspend(i int) (resume func()) {
	c.t.Helper()
	pid := c.nodes[i].PID()
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(pid, s); err != nil {
			c.t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}

// Restart starts node i again after it was killed.
func (c *Cluster) Restart(i int) {
	c.t.Helper()
	var err error
	if c.nodes[i], err = node.Start(c.t.Context(), node.Member(c.options, i, len(c.nodes))); err != nil {
		c.t.Fatal(err)
	}
}

// Prefix returns a prefix of index names that no other test uses. The indices with this prefix are deleted when the test ends.
func Prefix(t testing.TB) string {
	t.Helper()
	prefix := "test-" + strings.ToLower(rand.Text())
	DropAtEnd(t, prefix)
	return prefix
}

// DropAtEnd deletes the indices with a prefix when the test ends.
func DropAtEnd(t testing.TB, prefix string) {
	t.Helper()
	url := URLs(t)[0] + "/" + prefix + "-*"
	do := func(method, url, body string) {
		req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s %s: %s", method, url, res.Status)
		}
	}
	t.Cleanup(func() {
		do(http.MethodPut, url+"/_settings", `{"index.blocks.read_only": null}`) // the indices of a frozen library have this block
		do(http.MethodDelete, url, "")
	})
}
