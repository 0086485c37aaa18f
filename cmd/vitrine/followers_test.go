package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/item"
)

var followerRuns = flag.Int("followers.runs", 5, "number of runs of TestFollowersThroughKills")

// followedManifests are the manifests of TestFollowersThroughKills. The parameters are a name and the query of the filter, and the
// selector of the tag.
const followedManifests = `
apiVersion: vitrine.dev/v1alpha1
kind: Property
metadata: {name: default, namespace: shop}
spec: {displayName: Shop}
---
apiVersion: vitrine.dev/v1alpha1
kind: AccessToken
metadata: {name: display, namespace: shop}
spec: {class: ReadOnly}
---
apiVersion: vitrine.dev/v1alpha1
kind: ContentFilter
metadata: {name: wall, namespace: shop}
spec: {name: '%s', readAccess: ReadOnly, query: '%s'}
---
apiVersion: vitrine.dev/v1alpha1
kind: Tag
metadata: {name: calm, namespace: shop}
spec: {namespace: vibe, key: calm, selector: {query: '%s'}}
`

// remote is a follower outside of the server, which keeps the items of a listing by their ids.
type remote struct {
	client    *client.Client
	following client.Following

	mu    sync.Mutex
	items map[item.ID]string
	// listing is true after a reset until all items have been listed, and lists is the number of complete lists.
	listing bool
	lists   int
}

// run follows until ctx ends. It reconnects from the last cursor whenever the connection breaks.
func (r *remote) run(ctx context.Context) {
	for ctx.Err() == nil {
		started := r.following.Since
		for page, err := range r.client.Changes(ctx, r.following) {
			if err != nil {
				break
			}
			r.apply(page)
		}
		if r.following.Since == started {
			pause(ctx, 20*time.Millisecond)
		}
	}
}

func (r *remote) apply(page client.ChangePage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if page.Reset {
		r.items, r.listing = map[item.ID]string{}, true
	}
	for _, c := range page.Changes {
		if c.Removed {
			delete(r.items, c.ID)
		} else {
			r.items[c.ID] = string(c.Item)
		}
	}
	if page.Cursor == "" {
		return
	}
	r.following.Since = page.Cursor
	if r.listing {
		r.listing = false
		r.lists++
	}
}

func (r *remote) state() (map[item.ID]string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.items), r.lists
}

// listed returns the items of the listing that r follows.
func (r *remote) listed(ctx context.Context) (map[item.ID]string, error) {
	copied := remote{}
	f := r.following
	f.Since, f.Wait = "", 0
	for page, err := range r.client.Changes(ctx, f) {
		if err != nil {
			return nil, err
		}
		copied.apply(page)
	}
	return copied.items, nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// followed is a server that TestFollowersThroughKills kills and starts again.
type followed struct {
	t               *testing.T
	manifests, data string
	address         string
	// readWrite and display are tokens.
	readWrite, display string
	// kill kills the server, if it runs.
	kill func()
}

// start starts the server, always at the same address.
func (f *followed) start() {
	f.t.Helper()
	cmd := command("dev", f.manifests, "--data-dir", f.data, "--http-bind-address", f.address)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	ended := make(chan struct{})
	f.kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = cmd.Wait()
	})
	f.t.Cleanup(f.kill)
	c := &terminal{t: f.t, lines: make(chan string, 1000)}
	go func() {
		defer close(ended)
		defer close(c.lines)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			select {
			case c.lines <- lines.Text():
			default: // start reads only the first lines
			}
		}
	}()
	readWrite := c.await(`^Property shop/default: .* READ-WRITE token (\S+)$`)[1]
	address := c.await(`export VITRINE_SERVER=http://(\S+)`)[1]
	display := c.await(`^AccessToken shop/display: (\S+)`)[1]
	if f.readWrite == "" { // otherwise, they are as before
		f.readWrite, f.address, f.display = readWrite, address, display
	}
}

// declare writes the manifests of a run, with a random query and a random selector. The selector also contains the number of the run, so
// that the rules of all runs differ.
func (f *followed) declare(run int, random *rand.Rand) {
	f.t.Helper()
	query := []string{"approval_status:app", "approval_status:rej", "tags.vibe.key:calm"}[random.IntN(3)]
	text := fmt.Sprintf(followedManifests, nameOf(run), query, fmt.Sprintf("id:[1 TO %d] OR campaign:%d", 1+random.IntN(40), 1000+run))
	if err := os.WriteFile(filepath.Join(f.manifests, "shop.yaml"), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// client returns a client with a token.
func (f *followed) client(token string) *client.Client {
	c, err := client.New(client.Options{Server: "http://" + f.address, Token: token})
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// filter returns the filter that the server serves, or nothing if it does not respond.
func (f *followed) filter(ctx context.Context) client.Filter {
	for found, err := range f.client(f.readWrite).Filters(ctx) {
		if err == nil {
			return found
		}
	}
	return client.Filter{}
}

// nameOf returns the name of the filter that declare writes.
func nameOf(run int) string { return fmt.Sprint("wall of run ", run) }

// send sends a request. The server may be killed meanwhile, or not know an item.
func (f *followed) send(ctx context.Context, method, path, body string) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+f.address+path, strings.NewReader(body))
	if err != nil {
		f.t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+f.readWrite)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	absent := res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusUnprocessableEntity
	if text, err := io.ReadAll(res.Body); err == nil && res.StatusCode/100 == 4 && !absent {
		f.t.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
}

// write sends n random writes.
func (f *followed) write(ctx context.Context, random *rand.Rand, n int) {
	status := func() string { return []string{"app", "rej", "pen"}[random.IntN(3)] }
	for range n {
		id := 1 + random.IntN(60)
		at := fmt.Sprint("/v2/content/", id)
		switch random.IntN(6) {
		case 0:
			f.send(ctx, http.MethodDelete, at, "")
		case 1:
			f.send(ctx, http.MethodPatch, at, fmt.Sprintf(`{"submission":{"size":"%d"}}`, random.IntN(100)))
		case 2:
			f.send(ctx, http.MethodPatch, at, fmt.Sprintf(`{"approval_status":%q,"campaign":%d}`, status(), random.IntN(100)))
		case 3:
			f.send(ctx, http.MethodPost, "/v1/tags/", fmt.Sprintf(`{"ugc_ids":[%d,%d],"namespace":"vibe","key":"loud"}`, id, 1+random.IntN(60)))
		default:
			var lines strings.Builder
			for range 1 + random.IntN(10) {
				fmt.Fprintf(&lines, `{"id":%d,"content_type":"text","caption":"number %d","approval_status":%q}`+"\n",
					1+random.IntN(60), random.IntN(1000), status())
			}
			f.send(ctx, http.MethodPost, "/v2/content/bulk?on_conflict=replace", lines.String())
		}
	}
}

// TestFollowersThroughKills changes items and manifests at random, while the server is killed at random times. At the end of each run, each
// follower must have the items of a listing, and no follower may have listed again without a change of the manifests.
func TestFollowersThroughKills(t *testing.T) {
	f := &followed{t: t, manifests: t.TempDir(), data: filepath.Join(t.TempDir(), "data"), address: "127.0.0.1:0"}
	f.declare(-1, rand.New(rand.NewPCG(0, 0)))
	f.start()
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	followers := []*remote{
		{client: f.client(f.readWrite), following: client.Following{Query: "*:*", List: true, PageSize: 7, Wait: time.Second}},
		{client: f.client(f.display), following: client.Following{Filter: f.filter(ctx).UUID, List: true, Wait: 2 * time.Second}},
		{client: f.client(f.display), following: client.Following{Query: "tags.vibe.key:calm", List: true, PageSize: 3}},
	}
	kills, lists := 0, make([]int, len(followers))
	for i, r := range followers {
		following.Go(func() { r.run(ctx) })
		eventually(t, "the first list", func() bool { _, lists[i] = r.state(); return lists[i] == 1 })
	}
	diff := ""
	defer func() {
		if diff != "" {
			t.Errorf("-listed +followed:\n%s", diff)
		}
	}()
	for run := range *followerRuns {
		random := rand.New(rand.NewPCG(uint64(run), 17))
		var writing sync.WaitGroup
		for range 2 {
			writes := rand.New(rand.NewPCG(random.Uint64(), 1))
			writing.Go(func() { f.write(ctx, writes, 5+writes.IntN(20)) })
		}
		if random.IntN(2) == 0 {
			pause(ctx, time.Duration(random.IntN(60))*time.Millisecond)
			f.kill()
			f.start()
			kills++
		}
		declared := random.IntN(4) == 0
		if declared {
			f.declare(run, random)
			eventually(t, nameOf(run), func() bool { return f.filter(ctx).Name == nameOf(run) })
		}
		writing.Wait()
		for i, r := range followers {
			eventually(t, fmt.Sprintf("run %d, follower %d", run, i), func() bool {
				want, err := r.listed(ctx)
				if err != nil {
					return false
				}
				has, n := r.state()
				diff = cmp.Diff(want, has)
				return diff == "" && (n > lists[i] || !declared)
			})
			_, n := r.state()
			if n != lists[i] && !declared {
				t.Errorf("run %d: follower %d listed again %d times, although no manifest has changed", run, i, n-lists[i])
			}
			lists[i] = n
		}
	}
	t.Logf("%d runs, %d kills, lists of the followers: %d", *followerRuns, kills, lists)
}
