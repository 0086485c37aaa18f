package clients

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// purged is the maximum time from the acknowledged change of an item to the changed page from the cache (docs/connect-an-app.md). The test
// allows more, because machines that run it can be busy, and logs the time.
const purged = 30 * time.Second

// TestPurge runs Varnish and the receiver of docs/connect-an-app.md between a server and a reader, and changes an item. The cached page must
// contain the change long before its maximum age.
func TestPurge(t *testing.T) {
	tools(t, "varnishd", "python3")
	lib, origin := newOrigin(t)
	dir, cache, receiver := t.TempDir(), freePort(t), freePort(t)
	host, port, _ := net.SplitHostPort(origin)
	vcl := fmt.Sprintf("vcl 4.1;\nbackend default { .host = %q; .port = %q; }\n%s", host, port, codeBlock(t, "connect-an-app.md", "vcl"))
	for name, text := range map[string]string{"cache.vcl": vcl, "purge.py": codeBlock(t, "connect-an-app.md", "python")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, nil, "varnishd", "-j", "none", "-F", "-n", filepath.Join(dir, "varnish"), "-a", cache, "-f", filepath.Join(dir, "cache.vcl"), "-s", "malloc,32m")
	receive(t, receiver, filepath.Join(dir, "purge.py"), "CACHE=http://"+cache)

	url := "http://" + cache + "/v2/content/filters/" + filterUUID + "?access_token=" + readOnly
	delivered := deliver(t, lib, library.Webhook{
		URL: "http://" + receiver, FilterUUID: filterUUID, Entered: true, Left: true, Changed: true, MaxItems: 100,
	})
	for deadline := time.Now().Add(purged); !delivered(); {
		if time.Now().After(deadline) {
			t.Fatal("the first delivery has not succeeded")
		}
		_ = get(t, url)
	}
	before := get(t, url)
	if again := get(t, url); again.Header.Get("Age") == "" || again.Header.Get("X-Varnish") == before.Header.Get("X-Varnish") || len(strings.Fields(again.Header.Get("X-Varnish"))) != 2 {
		t.Fatalf("the second response is not from the cache: %v", again.Header)
	}

	patch, err := item.ParsePatch([]byte(`{"content":{"text":"Purged"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if outcomes, err := lib.Write(t.Context(), property, []library.Mutation{{ID: 100001, Patch: patch}}); err != nil || outcomes[0].Err != nil {
		t.Fatal(err, outcomes)
	}
	for began := time.Now(); ; {
		if strings.Contains(get(t, url).body, `"text":"Purged"`) {
			t.Logf("the cache has the changed page after %v", time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Since(began) > purged {
			t.Fatalf("after %v, the cache still has the old page", purged)
		}
	}
}
