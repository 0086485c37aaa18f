package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/opensearch"
)

// newIndices creates a library on the OpenSearch cluster of the tests, with the same content as newStore, and returns the flags for it.
func newIndices(t *testing.T) (urls, flags []string) {
	t.Helper()
	urls = nodetest.URLs(t)
	prefix := nodetest.Prefix(t)
	lib, err := opensearch.Open(t.Context(), opensearch.Options{URLs: urls, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, lib)
	return urls, []string{"--library", "opensearch", "--opensearch-index-prefix", prefix, "--http-bind-address", "127.0.0.1:0"}
}

// items returns the URL of a query.
func (s *instance) items(query string) string {
	return "http://" + s.addresses["http"] + "/v2/content/items?access_token=" + secret + "&" + query
}

// TestOpenSearchKeepsWhatWasAcknowledged checks that a killed server gives the same responses after a restart with another data
// directory.
func TestOpenSearchKeepsWhatWasAcknowledged(t *testing.T) {
	urls, flags := newIndices(t)
	flags = append(flags, "--opensearch-url", strings.Join(urls, ","))
	queries := []string{"q=text:number&sort_by=id:asc", "q=tags.marketer_tags.key:summer+AND+id:[7+TO+20]&sort_by=id:desc", "q=item+7"}
	ask := func(s *instance) (answers []string) {
		t.Helper()
		for _, q := range queries {
			code, body := get(t, s.items(q))
			if code != http.StatusOK {
				t.Fatalf("%s: %d %s", q, code, body)
			}
			answers = append(answers, body)
		}
		return answers
	}
	s := start(t, filepath.Join(t.TempDir(), "data"), flags...)
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 50), "import", "-").want(t, 0, "50 added")
	before := ask(s)
	s.signal(syscall.SIGKILL)

	s = start(t, filepath.Join(t.TempDir(), "data"), flags...)
	for i, after := range ask(s) {
		if after != before[i] {
			t.Errorf("%s: after the kill\n%s\nbefore\n%s", queries[i], after, before[i])
		}
	}
	if !strings.Contains(before[0], `"total_results":50`) {
		t.Errorf("not all items: %.200s", before[0])
	}
	if code := s.signal(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestOpenSearchInterruptedPurge checks that vitrine purge completes an earlier purge that was interrupted after it had deleted the index
// of the property.
func TestOpenSearchInterruptedPurge(t *testing.T) {
	urls, flags := newIndices(t)
	prefix := flags[slices.Index(flags, "--opensearch-index-prefix")+1]
	flags = append(flags, "--opensearch-url", strings.Join(urls, ","))
	s := start(t, filepath.Join(t.TempDir(), "data"), flags...)
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 3), "import", "-").want(t, 0, "3 added")
	if code := s.signal(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	lib, err := opensearch.Open(t.Context(), opensearch.Options{URLs: urls, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	withdraw(t, lib)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, urls[0]+"/"+prefix+"-items-shop_default==1", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("delete the index: %s, %v", res.Status, err)
	}
	s = start(t, filepath.Join(t.TempDir(), "data"), flags...)
	dir := "--data-dir=" + s.dir
	vitrine(t.Context(), "", "purge", "shop/default", dir).want(t, exit.Failed, "the store has no property shop/default (its properties: none)")
	vitrine(t.Context(), "", "purge", "shop/default", "--yes", dir).want(t, 0, "shop/default erased")
	vitrine(t.Context(), "", "purge", "shop/default", "--yes", dir).want(t, exit.Failed, "shop/default: not found (properties of the store: none)")
}

// TestOpenSearchIsWaitedFor checks that a server whose cluster is unreachable stays alive, reports why it is not ready, and becomes ready
// by itself when the cluster is reachable. It also checks that a ready server reports the loss of its cluster.
func TestOpenSearchIsWaitedFor(t *testing.T) {
	urls, flags := newIndices(t)
	target, err := url.Parse(urls[0])
	if err != nil {
		t.Fatal(err)
	}
	reserved, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := reserved.Addr().String()
	if err := reserved.Close(); err != nil {
		t.Fatal(err)
	}
	flags = append(flags, "--opensearch-url", "http://"+address)
	s := launch(t, filepath.Join(t.TempDir(), "data"), func(cmd *exec.Cmd) *exec.Cmd { return cmd }, flags...)
	waits := func(probe string, want int) func() bool {
		return func() bool {
			s.mu.Lock()
			at := s.addresses["waiting"]
			s.mu.Unlock()
			code, body := get(t, "http://"+at+probe)
			return code == want && strings.Contains(body, "OpenSearch cannot be reached")
		}
	}
	eventually(t, "not ready with the cause", waits("/readyz", http.StatusServiceUnavailable))
	eventually(t, "alive", waits("/healthz", http.StatusOK))

	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	cluster := &httptest.Server{Listener: l, Config: &http.Server{Handler: httputil.NewSingleHostReverseProxy(target)}}
	cluster.Start()
	s.awaitReady()

	cluster.CloseClientConnections()
	cluster.Close()
	eventually(t, "unready", func() bool {
		code, body := s.probe("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "OpenSearch cannot be reached")
	})
	if code, body := get(t, s.items("q=*:*")); code != http.StatusServiceUnavailable {
		t.Errorf("%d %s, want 503", code, body)
	}
	if code := s.signal(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestOpenSearchPartition revokes a token while one of two replicas cannot reach the cluster. It checks that the isolated replica accepts
// no token, not even for reads from memory, and that the other replica rejects the revoked token. After the isolated replica reaches the
// cluster again, it must reject the revoked token, too.
func TestOpenSearchPartition(t *testing.T) {
	urls, flags := newIndices(t)
	proxy := nodetest.NewProxy(t, urls[0])
	whole := start(t, filepath.Join(t.TempDir(), "data"), append(slices.Clone(flags), "--opensearch-url", strings.Join(urls, ","))...)
	cut := start(t, filepath.Join(t.TempDir(), "data"), append(slices.Clone(flags), "--opensearch-url", proxy.URL)...)
	status := func(s *instance) (int, http.Header) {
		res, err := http.Get("http://" + s.addresses["http"] + "/v2/content/filters?access_token=" + secret)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode, res.Header
	}
	responds := func(s *instance, want int) func() bool {
		return func() bool { code, _ := status(s); return code == want }
	}
	eventually(t, "both accept the token", func() bool { return responds(whole, http.StatusOK)() && responds(cut, http.StatusOK)() })
	proxy.Inject(nodetest.Closed)
	lib, err := opensearch.Open(t.Context(), opensearch.Options{URLs: urls, Prefix: flags[slices.Index(flags, "--opensearch-index-prefix")+1]})
	if err != nil {
		t.Fatal(err)
	}
	withdraw(t, lib)
	eventually(t, "the replica with a cluster refuses the token", responds(whole, http.StatusForbidden))
	eventually(t, "the replica without a cluster accepts no token", responds(cut, http.StatusServiceUnavailable))
	if _, header := status(cut); header.Get("Retry-After") == "" {
		t.Error("the response has no Retry-After")
	}
	if code, body := cut.probe("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "OpenSearch cannot be reached") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	proxy.Inject(nodetest.None)
	eventually(t, "the replica refuses the token", responds(cut, http.StatusForbidden))
	eventually(t, "the replica is ready", func() bool { code, _ := cut.probe("/readyz"); return code == http.StatusOK })
	for _, s := range []*instance{whole, cut} {
		if code := s.signal(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// TestOpenSearchFlags checks that the server refuses invalid flags at start, and that the error names the flag.
func TestOpenSearchFlags(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	}))
	defer locked.Close()
	used := []string{"--library=opensearch"}
	for name, test := range map[string]struct {
		flags []string
		code  int
		want  string
	}{
		"no URL":             {used, exit.Usage, "--opensearch-url"},
		"another library":    {[]string{"--opensearch-url=https://search.example"}, exit.Usage, "--library=opensearch"},
		"a prefix alone":     {[]string{"--opensearch-index-prefix=x"}, exit.Usage, "--library=opensearch"},
		"a timeout alone":    {[]string{"--opensearch-read-timeout=9s"}, exit.Usage, "--library=opensearch"},
		"no time to read":    {append(used, "--opensearch-url=https://search.example", "--opensearch-read-timeout=0"), exit.Usage, "longer than 0"},
		"too long a timeout": {append(used, "--opensearch-url=https://search.example", "--opensearch-read-timeout=2m"), exit.Usage, "longer than 1m"},
		"plain text alone":   {[]string{"--opensearch-allow-plaintext"}, exit.Usage, "--library=opensearch"},
		"an unknown library": {[]string{"--library=solr"}, exit.Usage, "engine or opensearch"},
		"plain text":         {append(used, "--opensearch-url=http://search.example"), exit.Usage, "not encrypted"},
		"half of the secret": {append(used, "--opensearch-url=https://search.example", "--opensearch-username-file=u"), exit.Usage, "--opensearch-password-file"},
		"a missing CA file":  {append(used, "--opensearch-url=https://search.example", "--opensearch-ca-file=/none/ca.crt"), exit.Store, "/none/ca.crt"},
		"another server":     {append(used, "--opensearch-url="+other.URL), exit.Store, "not OpenSearch"},
		"a refused password": {append(used, "--opensearch-url="+locked.URL), exit.Store, "credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"serve", "--without-kubernetes", "--data-dir", filepath.Join(t.TempDir(), "data")}, test.flags...)
			vitrine(t.Context(), "", args...).want(t, test.code, test.want)
		})
	}
}
