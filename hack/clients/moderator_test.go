package clients

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// moderated is the maximum time until the service has decided about new items.
const moderated = 30 * time.Second

// TestModerator runs the service of docs/moderate.md with a token that allows only Moderate. It must decide about the items that are pending
// at its start, on more than one page, and about new items, and it must refuse a delivery whose signature is invalid.
func TestModerator(t *testing.T) {
	tools(t, "python3")
	lib, origin := newOrigin(t)
	const token = "token-of-the-moderator-of-the-tests-"
	results, err := lib.Apply(t.Context(), []library.Definition{{
		Property: property, Owner: library.Owner{Install: "clients", Kind: library.KindToken, Namespace: "shop", Name: "moderator"},
		Token: &library.Token{
			ReadWrite: true, Allow: []library.Action{library.Moderate}, Values: []library.TokenValue{{Digest: sha256.Sum256([]byte(token))}},
		},
	}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	submit := func(first, last item.ID) {
		t.Helper()
		var muts []library.Mutation
		for id := first; id <= last; id++ {
			text := "The first tram of the day"
			if id%2 == 0 {
				text = "Win at the Casino"
			}
			line, err := item.ParseLine(fmt.Appendf(nil, `{"id":%d,"content_type":"text","caption":%q}`, id, text), item.ParseOptions{AuthorKey: lib.AuthorKey()})
			if err != nil {
				t.Fatal(err)
			}
			muts = append(muts, library.Mutation{Put: line.Item})
		}
		outcomes, err := lib.Write(t.Context(), property, muts)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outcomes {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
		}
	}
	total := func(query string) string {
		t.Helper()
		body := get(t, "http://"+origin+"/v2/content/items?page_size=1&access_token="+readWrite+"&q="+query).body
		count, _, _ := strings.Cut(strings.TrimPrefix(body, `{"total_results":`), ",")
		return count
	}
	decided := func(approved, rejected string) {
		t.Helper()
		for deadline := time.Now().Add(moderated); total("approval_status:pen") != "0"; {
			if time.Now().After(deadline) {
				t.Fatalf("after %v, %s items are pending", moderated, total("approval_status:pen"))
			}
		}
		if a, r := total("approval_status:app+AND+text:tram"), total("approval_status:rej+AND+text:casino"); a != approved || r != rejected {
			t.Errorf("%s approved and %s rejected items, want %s and %s", a, r, approved, rejected)
		}
	}

	submit(200001, 200150)
	program, receiver := filepath.Join(t.TempDir(), "moderator.py"), freePort(t)
	if err := os.WriteFile(program, []byte(codeBlock(t, "moderate.md", "python")), 0o600); err != nil {
		t.Fatal(err)
	}
	receive(t, receiver, program, "VITRINE_SERVER=http://"+origin, "VITRINE_TOKEN="+token)
	decided("75", "75")

	forged, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+receiver, strings.NewReader(`{"type":"content.reset","data":{"changes":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	forged.Header.Set("Webhook-Signature", "v1,AAAA")
	r, err := http.DefaultClient.Do(forged)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("a delivery with an invalid signature: %s", r.Status)
	}

	submit(200151, 200152)
	deliver(t, lib, library.Webhook{URL: "http://" + receiver, Query: "approval_status:pen", Entered: true, Changed: true, Items: true, MaxItems: 100})
	decided("76", "76")
	submit(200153, 200154)
	decided("77", "77")
}
