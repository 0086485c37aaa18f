package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
	"github.com/vitrine-dev/vitrine/server/opensearch"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
)

var (
	leakSeed     = flag.Uint64("leak.seed", 0, "the seed of the random requests of TestReadOnlyLeaks (0: from the time)")
	leakRequests = flag.Int("leak.requests", 0, "how many random requests TestReadOnlyLeaks sends to each library (0: a few thousand)")
)

// TestReadOnlyLeaks sends the same random requests of READ-ONLY callers, and of callers without a token, to two servers whose libraries
// differ only in private data: in their submissions, and in what happened to items before and when. The responses must be equal, byte for byte, with
// all headers. On OpenSearch, the servers must also send equal numbers of requests to the cluster. Timing is out of scope.
func TestReadOnlyLeaks(t *testing.T) {
	leaks(t, func(p *pair) {
		public, private := p.lines()
		for i, s := range p.sides {
			var lines []string
			for k, line := range public {
				lines = append(lines, strings.TrimSuffix(line, "}")+private[i][k]+"}")
			}
			s.write(shop, lines...)
		}
	})
}

// TestScopeLeaks is like TestReadOnlyLeaks, for callers with a scope. The libraries differ in the items outside the scope: in their number,
// their ids, their contents and their tags. The order by relevance and the scores may differ, because they depend on all items.
func TestScopeLeaks(t *testing.T) {
	leaks(t, func(p *pair) {
		p.outside = true
		public, private := p.lines()
		for i, s := range p.sides {
			s.apply(tokenDefinition(shop, "published", library.Token{Query: approved}), tokenDefinition(shop, "editor", library.Token{ReadWrite: true, Query: approved}))
			s.known("published", "editor")
			var lines []string
			for k, line := range public {
				if strings.Contains(line, `"approval_status":"app"`) {
					lines = append(lines, strings.TrimSuffix(line, "}")+private[0][k]+"}")
				}
			}
			s.write(shop, append(lines, p.hiddenLines(i)...)...)
		}
	})
}

// leaks compares the responses of pairs of libraries, which fill fills.
func leaks(t *testing.T, fill func(*pair)) {
	t.Helper()
	seed := *leakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-leak.seed=%d", seed)
	kinds := map[string]int{"engine": 2000, "reference": 500}
	if os.Getenv("VITRINE_TEST_LIBRARY") == "opensearch" {
		kinds = map[string]int{"opensearch": 1000}
	}
	for kind, n := range kinds {
		if *leakRequests > 0 {
			n = *leakRequests
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, kind, seed)
			fill(p)
			p.compare(n / 2)
			p.rewrite()
			p.compare(n - n/2)
			t.Logf("%d requests, by status: %v; %d were not compared", n, p.statuses, p.skipped)
			if most := n / 20; p.skipped > most && !p.outside || p.skipped > n/3 {
				t.Errorf("%d responses were not compared: too many", p.skipped)
			}
			if p.statuses[http.StatusOK] < n/4 || p.statuses[http.StatusBadRequest] < n/50 || p.statuses[http.StatusForbidden] < n/50 {
				t.Errorf("the statuses are %v: too few of some kind", p.statuses)
			}
		})
	}
}

// side is one of the two servers.
type side struct {
	*app
	prefix string // of the indices on OpenSearch
	// work holds the requests to OpenSearch that read items since the last request of a caller.
	mu   sync.Mutex
	work []string
	// asked holds the URLs of earlier requests, and tags the ETags of their responses since the last write.
	asked map[string]bool
	tags  map[string]string
}

// pair is two servers whose libraries differ only in private data or, if outside is true, in the items outside a scope.
type pair struct {
	*rand.Rand
	outside bool
	t       testing.TB
	sides   [2]*side
	// public is true while call makes a request that names only public fields, most of which succeed.
	public    bool
	statuses  map[int]int
	next      [2][]string // URLs of further pages, equal except for their cursors
	recent    []call      // successful requests
	different int
	// skipped counts the responses that byTime excludes.
	skipped int
}

const leakItems = 120

func newPair(t *testing.T, kind string, seed uint64) *pair {
	p := &pair{Rand: rand.New(rand.NewPCG(seed, 7)), t: t, statuses: map[int]int{}}
	for i := range p.sides {
		s := &side{app: &app{t: t, clock: librarytest.NewClock(began), log: &librarytest.Output{}, run: make(chan error, 1)}, asked: map[string]bool{}, tags: map[string]string{}}
		p.sides[i] = s
		s.lib = s.open(t, kind)
		s.apply(leakDefinitions()...)
		var err error
		s.server, err = httpapi.New(s.lib, httpapi.Options{
			Clock: s.clock.Now, Logger: slog.New(slog.NewTextHandler(s.log, nil)), ExternalURL: "https://content.example/base",
			Metrics: prometheus.NewRegistry(), Version: "0.1.0-test", Rand: rand.NewChaCha8([32]byte{}),
			// The budget of a query is a time. A slow machine must not make the responses differ.
			QueryBudget: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		var ctx context.Context
		ctx, s.cancel = context.WithCancel(context.Background())
		go func() { s.run <- s.server.Run(ctx) }()
		s.eventually("all tokens are known", s.server.Ready)
		t.Cleanup(s.close)
	}
	return p
}

// open opens a library.
func (s *side) open(t *testing.T, kind string) library.Library {
	t.Helper()
	var l library.Library
	var err error
	switch kind {
	case "reference":
		l, err = reference.Open(reference.Options{Dir: t.TempDir(), Clock: s.clock.Now})
	case "opensearch":
		s.prefix = nodetest.Prefix(t)
		l, err = opensearch.Open(t.Context(), opensearch.Options{
			URLs: nodetest.URLs(t), Prefix: s.prefix, Clock: s.clock.Now, RefreshInterval: 20 * time.Millisecond, Transport: s, ReadTimeout: time.Minute,
		})
	default:
		l, err = engine.Open(engine.Options{Dir: t.TempDir(), Clock: s.clock.Now})
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// maintenance matches requests that keep an index in order, whenever it is time.
var maintenance = regexp.MustCompile(`/_(stats/get|refresh|flush|forcemerge)$`)

// RoundTrip implements http.RoundTripper. It counts the requests that read items. The other requests, such as those for the definitions,
// depend on the time and not on the caller's request.
func (s *side) RoundTrip(r *http.Request) (*http.Response, error) {
	items := strings.Contains(r.URL.Path, "-items-") && !strings.Contains(r.URL.Path, "-definitions-") || strings.HasPrefix(r.URL.Path, "/_search")
	if items && !maintenance.MatchString(r.URL.Path) {
		s.mu.Lock()
		s.work = append(s.work, r.Method+" "+r.URL.RequestURI())
		s.mu.Unlock()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// worked returns the requests to OpenSearch since the last call.
func (s *side) worked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.work = nil }()
	return s.work
}

// leakDefinitions returns definitions that do not depend on private data. A public filter whose author uses private fields shows its items
// to READ-ONLY callers on purpose.
func leakDefinitions() []library.Definition {
	return slices.DeleteFunc(definitions(), func(d library.Definition) bool { return d.Filter != nil && d.Filter.Name == "secret-order" })
}

// These are the words of the items, in public and in private texts.
var (
	leakWords = strings.Fields("beach sunset mountain river city jane john doe secret email mail example 42 1987 été 東京 don't shoe size note")
	leakNames = strings.Fields("jane.doe@mail.example john.roe@mail.example zoe+1@mail.example JANE jane john Zoë 42 43 1987-05-04 yes no secret-note")
)

// lines returns the public parts of the items as lines, and the private members of both sides: submissions, and times of the last change.
func (p *pair) lines() (public []string, private [2][]string) {
	some := func(words []string, n int) string {
		var out []string
		for range n {
			out = append(out, words[p.IntN(len(words))])
		}
		return strings.Join(out, " ")
	}
	for i := range leakItems {
		id := 1001 + i
		content := map[string]any{
			"content_type": []string{"image", "video", "text"}[i%3], "text": some(leakWords, p.IntN(9)),
			"social_platform": []string{"instagram", "twitter", "direct"}[i%3], "original_url": fmt.Sprintf("https://posts.example/%d", id),
			"author": map[string]any{"username": some(leakNames, 1), "id": 500 + i%7, "profile": map[string]any{"name": some(leakWords, 2)}},
		}
		if i%4 == 0 {
			content["platform_ref:instagram"] = fmt.Sprint(i % 9)
			content["platform_data"] = map[string]any{
				"location": map[string]any{"name": some(leakWords, 2), "country_code": "pt"},
				"geo_data": map[string]any{"type": "Point", "coordinates": map[string]any{"latitude": float64(i) - 30.5, "longitude": 1.25}},
			}
		}
		line := map[string]any{
			"id": id, "approval_status": []string{"app", "app", "rej", "pen"}[i%4], "created_on": began.Add(-time.Duration(i*i) * time.Hour).Format(time.RFC3339),
			"campaign": 12 + i%3, "featured": i%10 == 0, "claimed": i%6 == 0, "content": content, "short_code": fmt.Sprintf("code%d", id),
			"tags": map[string]any{"vibe": []string{leakWords[i%5], leakWords[i%7]}, "hashtags": []string{some(leakWords[:5], 1)}},
		}
		if i%11 == 0 {
			line["tags"] = map[string]any{fmt.Sprintf("rare%d", i): []string{"jane"}}
		}
		text, err := json.Marshal(line)
		if err != nil {
			p.t.Fatal(err)
		}
		public = append(public, string(text))
		for side := range private {
			submission := map[string]string{}
			for range p.IntN(5) {
				submission[[]string{"email", "username", "note", "size", "birthday", "first_name"}[p.IntN(6)]] = some(leakNames, 1)
			}
			// Only one side has many names, so that a limit that counts them differs.
			for k := range 12 * (1 - side) {
				submission[fmt.Sprintf("name%d-%d", i, k)] = some(leakNames, 1)
			}
			part := ""
			if p.IntN(3) > 0 && len(submission) > 0 {
				encoded, err := json.Marshal(submission)
				if err != nil {
					p.t.Fatal(err)
				}
				part = `,"submission":` + string(encoded)
			}
			if p.IntN(2) == 0 {
				part += fmt.Sprintf(`,"last_modified":"2026-11-%02dT00:00:00Z"`, 1+p.IntN(20))
			}
			private[side] = append(private[side], part)
		}
	}
	return public, private
}

var lineMember = regexp.MustCompile(`"(id|short_code|approval_status)":("[^"]*"|\d+)`)

// hiddenLines returns items outside the scope, which differ between the sides. Some ids exist on one side only, and some items have tags and
// words that no other item has.
func (p *pair) hiddenLines(side int) []string {
	lines, _ := p.lines()
	for i, line := range lines {
		id := 1001 + i
		if i%4 < 2 || i%8 < 4 == (side == 0) { // an id that is approved, or free on this side
			id = 20_000*(side+1) + i
		}
		values := map[string]string{
			"id": fmt.Sprint(id), "short_code": fmt.Sprintf(`"hidden%d"`, id), "approval_status": p.pick(`"rej"`, `"pen"`),
		}
		line = lineMember.ReplaceAllStringFunc(line, func(member string) string {
			name := strings.Split(member, `"`)[1]
			if name == "id" && !strings.Contains(member, fmt.Sprint(1001+i)) {
				return member // the id of an author
			}
			return fmt.Sprintf(`"%s":%s`, name, values[name])
		})
		lines[i] = strings.Replace(line, `"tags":{`, fmt.Sprintf(`"tags":{"secret%d":["jane%c"],`, p.IntN(9), 'a'+rune(p.IntN(26))), 1)
	}
	return lines[:len(lines)-30*side]
}

// rewrite gives the items of the first side a history that callers may not see.
func (p *pair) rewrite() {
	if p.outside {
		p.rewriteHidden()
	} else {
		p.rewritePrivate()
	}
	for i := range p.sides {
		p.next[i] = nil // a cursor by relevance is about the state of the index
		p.sides[i].tags = map[string]string{}
		p.sides[i].merge()
	}
}

// rewriteHidden adds, tags and erases items outside the scope on the first side.
func (p *pair) rewriteHidden() {
	p.sides[0].write(shop, `{"id":5001,"approval_status":"pen","created_on":"2026-11-20T00:00:00Z","content":{"content_type":"text","text":"beach jane later"}}`)
	for i := range item.ID(leakItems) {
		id := 20_000 + i
		switch i % 8 {
		case 0:
			p.change(library.Mutation{Delete: true, ID: id})
		case 1:
			p.change(library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: "later"}, IDs: []item.ID{id}})
		}
	}
}

// rewritePrivate changes and removes submissions, reverts decisions of moderators, and erases an item on the first side, a day later than the
// last changes on the second side.
func (p *pair) rewritePrivate() {
	p.sides[0].clock.Advance(24 * time.Hour)
	defer p.sides[0].clock.Advance(-24 * time.Hour)
	patch := func(id item.ID, body string) {
		parsed, err := item.ParsePatch([]byte(body))
		if err != nil {
			p.t.Fatal(err)
		}
		p.change(library.Mutation{ID: id, Patch: parsed})
	}
	for i := range item.ID(leakItems) {
		id := 1001 + i
		switch i % 4 {
		case 0:
			patch(id, `{"submission":{"email":"new.person@mail.example","size":"77"}}`)
		case 1:
			patch(id, `{"submission":null}`)
		case 2:
			patch(id, `{"approval_status":"app"}`)
			patch(id, `{"approval_status":"rej"}`)
		}
	}
	p.sides[0].write(shop, `{"id":5001,"approval_status":"app","created_on":"2026-11-20T00:00:00Z","content":{"content_type":"text","text":"beach jane erased"}}`)
	p.change(library.Mutation{Delete: true, ID: 5001})
}

// change changes the items of the first side.
func (p *pair) change(m library.Mutation) {
	outcomes, err := p.sides[0].lib.Write(context.Background(), shop, []library.Mutation{m})
	if err != nil || outcomes[0].Err != nil {
		p.t.Fatal(err, outcomes)
	}
}

// merge removes deleted documents from an index on OpenSearch, as the eraser of the library does after some minutes. Until then, they
// affect scores (docs/opensearch.md, "Differences").
func (s *side) merge() {
	if s.prefix == "" {
		return
	}
	for _, step := range []string{"/_flush", "/_forcemerge?max_num_segments=1", "/_refresh"} {
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, nodetest.URLs(s.t)[0]+"/"+s.prefix+"-items-*"+step, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: %s", step, res.Status)
		}
	}
}

// compare sends n random requests to both sides.
func (p *pair) compare(n int) {
	for range n {
		if p.different >= 5 {
			return
		}
		c := p.call()
		var got [2]answer
		var work [2][]string
		var sent [2]call
		again := false
		for i, s := range p.sides {
			sent[i] = c
			if c.url == "" { // a further page
				sent[i].url = p.next[i][0]
			}
			if tag := s.tags[sent[i].url]; tag != "" && c.header["If-None-Match"] != "" {
				sent[i].header = map[string]string{"If-None-Match": tag}
			}
			s.worked()
			w := httptest.NewRecorder()
			s.server.ServeHTTP(w, sent[i].request())
			got[i] = answer{w.Code, w.Header(), p.plain(w)}
			work[i] = s.worked()
			again = again || s.asked[sent[i].url]
			s.asked[sent[i].url] = true
			s.tags[sent[i].url] = w.Header().Get("ETag")
		}
		if c.url == "" {
			for i := range p.next {
				p.next[i] = p.next[i][1:]
			}
		}
		p.statuses[got[0].status]++
		if got[0].status == http.StatusOK && c.url != "" && p.IntN(4) == 0 {
			p.recent = append(p.recent[max(0, len(p.recent)-20):], c)
		}
		if byTime(got, sent[0]) || p.outside && byScore(got, sent[0]) {
			p.skipped++
			continue
		}
		a, b := p.shown(got[0]), p.shown(got[1])
		// How the server answers a request that it answered before also depends on the time since then, and on writes since then.
		if a != b || !again && len(work[0]) != len(work[1]) || got[0].status >= http.StatusInternalServerError {
			p.different++
			p.t.Errorf("%s %s (token %q, %v)\n%.3000s\nwith other private data:\n%.3000s\nrequests to OpenSearch: %q and %q",
				c.method, sent[0].url, c.token, sent[0].header, a, b, work[0], work[1])
			continue
		}
		if got[0].status == http.StatusOK && len(p.next[0]) < 50 && p.IntN(3) == 0 {
			first, second := nextURL(got[0]), nextURL(got[1])
			if first != "" && second != "" {
				p.next[0], p.next[1] = append(p.next[0], first), append(p.next[1], second)
			}
		}
	}
}

var nextLink = regexp.MustCompile(`"next":\{"href":"https://content\.example/base([^"]*)"`)

// byTime reports whether two responses may differ because of the time alone. A suggestion omits values that it cannot count within 250 ms,
// and forbids to store such a response. Which values are in time differs between two such responses. A server that forgot the version of a
// list, or merged its segments, sends the list again although the caller has it. On OpenSearch, replaced documents affect scores until a merge
// (see docs/opensearch.md), so only the order of the items on a page, and which items are on a page of a longer list, may differ.
func byTime(got [2]answer, c call) bool {
	if u, err := url.Parse(c.url); err == nil && os.Getenv("VITRINE_TEST_LIBRARY") == "opensearch" && u.Query().Has("q") && !u.Query().Has("sort_by") {
		a, b := ranked(got[0].body), ranked(got[1].body)
		if a != nil && slices.Equal(a, b) && !bytes.Equal(got[0].body, got[1].body) {
			return true
		}
	}
	late := func(a answer) bool {
		return strings.Contains(a.header.Get("Cache-Control"), "no-store") && (a.status == http.StatusOK || a.status == http.StatusNotModified)
	}
	if strings.HasPrefix(c.url, "/v2/content/suggest") && (late(got[0]) || late(got[1])) {
		return true
	}
	conditional := c.header["If-None-Match"] != ""
	statuses := [2]int{got[0].status, got[1].status}
	return conditional && (statuses == [2]int{http.StatusOK, http.StatusNotModified} || statuses == [2]int{http.StatusNotModified, http.StatusOK})
}

// byScore reports whether two responses may differ only because scores depend on all items: if they explain a score, or if they list the
// same items in another order. Such a list has another ETag, and can have another compressed length.
func byScore(got [2]answer, c call) bool {
	u, err := url.Parse(c.url)
	if err != nil || got[0].status != got[1].status {
		return false
	}
	if strings.HasSuffix(u.Path, "/explain") {
		return true
	}
	order := u.Query().Get("sort_by")
	if scored := strings.Contains(order, "_score") || order == "" && u.Path == "/v2/content/items"; !scored {
		return false
	}
	if c.method == http.MethodHead || got[0].status == http.StatusNotModified {
		return true // the headers are those of a list in another order
	}
	a, b := ranked(got[0].body), ranked(got[1].body)
	return a != nil && slices.Equal(a, b)
}

// ranked returns the total of a list and, if the page has all of its items, the items in a defined order. It returns nil for other bodies.
func ranked(body []byte) []string {
	var list struct {
		Total    *int `json:"total_results"`
		Embedded struct {
			Items []json.RawMessage `json:"ugc:item"`
		} `json:"_embedded"`
	}
	if json.Unmarshal(body, &list) != nil || list.Total == nil {
		return nil
	}
	out := []string{fmt.Sprint(*list.Total)}
	if len(list.Embedded.Items) == *list.Total {
		for _, it := range list.Embedded.Items {
			out = append(out, string(it))
		}
		slices.Sort(out)
	}
	return out
}

// nextURL returns the URL of the next page, or "".
func nextURL(a answer) string {
	found := nextLink.FindSubmatch(a.body)
	if found == nil {
		return ""
	}
	var text string
	if json.Unmarshal([]byte(`"`+string(found[1])+`"`), &text) != nil {
		return ""
	}
	return text
}

// sealed matches a cursor. It is encrypted with a random nonce, so only its length is compared.
var sealed = regexp.MustCompile(`(?:cursor|since)=[0-9A-Za-z_-]{20,}`)

// plain returns the body of a response without its content coding.
func (p *pair) plain(w *httptest.ResponseRecorder) []byte {
	body := w.Body.Bytes()
	if w.Header().Get("Content-Encoding") != "gzip" || len(body) == 0 {
		return body
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		body, err = io.ReadAll(z)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return body
}

// shown returns a response as text, without its random parts.
func (p *pair) shown(a answer) string {
	var b strings.Builder
	fmt.Fprintln(&b, a.status)
	header := a.header.Clone()
	header.Set("X-Request-Id", "") // random
	if header.Get("Content-Encoding") == "gzip" && (sealed.Match(a.body) || sealed.MatchString(header.Get("Link"))) {
		header.Del("Content-Length") // the random bytes of a cursor take more or fewer bytes
	}
	for _, name := range []string{"Surrogate-Key", "Cache-Tag", "Cache-Groups"} {
		for i, value := range header[name] {
			header[name][i] = cacheTag.ReplaceAllString(value, "$1")
		}
	}
	if err := header.Write(&b); err != nil {
		p.t.Fatal(err)
	}
	b.Write(a.body)
	return sealed.ReplaceAllStringFunc(b.String(), func(c string) string { return fmt.Sprintf("cursor=%d", len(c)) })
}

// cacheTag matches a cache tag. It is a keyed hash of a name, with the random key of the library.
var cacheTag = regexp.MustCompile(`\b([pfi])[0-9A-Za-z_-]{12}`)

func (p *pair) pick(choices ...string) string { return choices[p.IntN(len(choices))] }

// call returns a random request. The URL is empty for the next page of an earlier response.
func (p *pair) call() call {
	c := call{token: "ro"}
	if p.outside {
		c.token = p.pick("published", "published", "editor")
	}
	switch p.IntN(12) {
	case 0:
		c.token = "walled"
	case 1:
		c.token = p.pick("", "wrong", "other-ro", "expired")
	}
	if p.IntN(8) == 0 {
		c.header = map[string]string{p.pick("If-None-Match", "Accept-Encoding", "Origin", "Accept"): p.pick(`"x"`, "gzip", "https://www.shop.example", "text/html")}
	}
	if p.IntN(30) == 0 {
		c.method = p.pick("HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
		c.body = p.pick("", "{}", `{"submission":{"email":"jane"}}`)
	}
	if len(p.recent) > 0 && p.IntN(10) == 0 {
		c = p.recent[p.IntN(len(p.recent))]
		c.header = map[string]string{"If-None-Match": `"x"`}
		return c
	}
	if len(p.next[0]) > 0 && p.IntN(8) == 0 {
		c.method, c.token = "", "" // the URL has no token, so send it in the header
		c.bearer = "ro"
		if p.outside {
			c.bearer = "published"
		}
		return c
	}
	p.public = p.IntN(3) > 0
	text := p.query()
	if p.IntN(20) == 0 {
		text = p.damaged(text)
	}
	params := url.Values{}
	paged := func() {
		if p.IntN(2) == 0 {
			params.Set("sort_by", p.order())
		}
		if p.IntN(2) == 0 {
			params.Set("page_size", p.pick("1", "2", "3", "7", "20", "50"))
		}
		if p.IntN(4) == 0 {
			params.Set("page", p.pick("1", "2", "3", "9", "99999999"))
		}
		if p.IntN(8) == 0 {
			params.Set("favorite_tag", p.pick("vibe:beach", "hero", "submission:jane", "vibe:"))
		}
		if p.IntN(8) == 0 {
			params.Set("seed", p.pick("1", "2.5", "x"))
		}
		if p.IntN(30) == 0 {
			params.Set("cursor", "AAAA")
		}
	}
	if p.IntN(30) == 0 {
		params.Set("page_size", p.pick("0", "x", "200", "-1"))
	}
	id := fmt.Sprint(1000 + p.IntN(leakItems+3))
	if p.IntN(20) == 0 {
		id = p.pick("5001", "-1", "x", "9007199254740993")
	}
	path := ""
	switch p.IntN(26) {
	default:
		path = "/v2/content/items"
		params.Set("q", text)
		paged()
	case 24, 25:
		path = "/v2/content/changes"
		if p.IntN(2) == 0 {
			params.Set("q", text)
		} else {
			params.Set("filter", p.pick(filterUUID("summer-wall"), filterUUID("hero-first"), filterUUID("private"), madeUUID, "4242", "1"))
		}
		if p.IntN(2) == 0 {
			params.Set("page_size", p.pick("1", "2", "7", "501"))
		}
		if p.IntN(15) == 0 {
			params.Set("since", "AAAA")
		}
	case 0, 1, 2:
		path = "/v2/content/facets"
		params.Set("q", text)
		params.Set("field", strings.ReplaceAll(p.field(), `\`, ""))
		if p.IntN(2) == 0 {
			params.Set("prefix", p.prefix())
		}
		if p.IntN(3) == 0 {
			params.Set("size", p.pick("1", "5", "100", "1000"))
		}
		if p.IntN(15) == 0 {
			params.Set("filter", filterUUID("summer-wall"))
		}
	case 3, 4, 5:
		path = "/v2/content/suggest"
		at := p.IntN(len([]rune(text)) + 1)
		if p.IntN(3) > 0 {
			text = p.field() + ":" + p.pick("", `"`, "(") + p.prefix()
			at = len([]rune(text))
		} else if p.IntN(2) == 0 {
			text = p.pick("", "beach ", "beach and ", "not ") + p.pick("", "@", "#") + p.pick(p.prefix(), id, "video", "beahc", "last week", "submision", "pending")
			at = len([]rune(text))
		}
		params.Set("q", text)
		if p.IntN(8) == 0 {
			path = "/v2/content/refine"
			params.Set("field", strings.ReplaceAll(p.field(), `\`, ""))
			params.Set("value", p.prefix())
			break
		}
		params.Set("position", fmt.Sprint(at))
		if p.IntN(4) == 0 {
			params.Set("sort_by", p.order())
		}
	case 6, 7, 8:
		path = "/v2/content/filters/" + p.pick(filterUUID("summer-wall"), filterUUID("hero-first"), filterUUID("shuffled"), filterUUID("private"), madeUUID, "4242", "1")
		if p.IntN(4) > 0 {
			params.Set("additional_query", text)
		}
		if p.IntN(8) == 0 {
			params.Set("info", "1")
		}
		paged()
	case 9:
		path = "/v2/content/" + id
	case 10:
		path = p.pick("/v1/ugc/"+id, "/v1/tags/ugc/"+id, "/v1/tags/vibe/beach", "/v1/tags/submission/jane", "/v1/tags/rare11/jane")
	case 11:
		path = p.pick("/i/code"+id, "/i/"+url.PathEscape(p.prefix()), "/v1/activate_units", fmt.Sprintf("/v1/activate_units/%d", unitID("boots")), "/openapi.json")
	case 12:
		path = "/v1/ugc/collections/" + p.pick("12", "13", "99")
		params.Set(p.pick("order", "author_id"), p.pick("date_asc", "501", "jane"))
		if p.IntN(2) == 0 {
			params.Set("namespace", "vibe")
			params.Set("tags_required", p.pick("beach", "jane", "beach,sunset"))
		}
	case 13:
		path = p.pick("/v2/content/definitions", "/v2/content/status", "/v2/content/compare", "/v2/content/items/explain", "/v2/content/bulk",
			"/v2/content/items/"+id+"/sources", "/v2/content/items/"+id+"/history", "/v2/content/filters", "/v2/content/filters/"+filterUUID("summer-wall")+"/explain", manifestURL("summer-wall"))
		params.Set("q", text)
		params.Set("ugc_id", id)
		params.Set("kind", "tag")
	}
	if len(params) > 0 {
		path += "?" + params.Encode()
	}
	c.url = path
	return c
}

// field returns the name of a field, often private or a pattern.
func (p *pair) field() string {
	if p.IntN(3) == 0 {
		fields := query.Fields()
		return fields[p.IntN(len(fields))].Name
	}
	if !p.public && p.IntN(3) == 0 {
		return p.pick("submission", "submission.email", "submission.size", "last_modified", `last_modified\*`, "changed", `submission.\*`, `su\*`, "submission.name3-1", "SUBMISSION.email", "nothing")
	}
	return p.pick("text", "author", "_all", "tags", "tags.vibe", "tags.vibe.key", `tags.\*`, `\*`, `content.\*`, `content.platform_ref\:instagram`,
		`content.platform_ref\:\*`, "tags.rare11.key", `s\*n.email`, `\*mail`, `\*modified`, `last\*`, "lastmodified", `\*.email`, `\*name\*`, `\*3-1`, "author.profile.name", "claimed",
		"campaign", "created_on", "id", "activate_units.name", "default_activate_unit.id", "approval_status")
}

// prefix returns the beginning of a word or of a private value.
func (p *pair) prefix() string {
	words := leakNames
	if p.IntN(2) == 0 {
		words = leakWords
	}
	w := []rune(words[p.IntN(len(words))])
	return string(w[:p.IntN(len(w)+1)])
}

func (p *pair) order() string {
	f := p.pick("id", "created_on", "campaign", "author", "content.media.id", "_score", "random", "featured", "default_activate_unit.id",
		"claimed", "content.platform_ref:instagram", "social_platform")
	if !p.public {
		return p.pick("submission.email", "submission.size", `submission.\*`, "last_modified", "text", f, p.field()) + p.pick("", ":asc", ",submission.email:asc", ":up")
	}
	return f + p.pick(":asc", ":desc", ":asc,id:desc")
}

// value returns the part of a clause after the name of its field.
func (p *pair) value() string {
	word := func() string {
		if p.IntN(2) == 0 {
			return leakWords[p.IntN(len(leakWords))]
		}
		return leakNames[p.IntN(len(leakNames))]
	}
	date := func() string {
		return p.pick("now-1d", "now", "now-3d/d", "2026-11", "2025", "*", "2026-11-19", "now+2d")
	}
	switch p.IntN(16) {
	default:
		return word()
	case 0:
		return `"` + word() + " " + word() + `"` + p.pick("", "~1", "~5")
	case 1, 2:
		return p.prefix() + "*"
	case 3:
		return p.pick("*", "?", "j?ne", "*mail*", "*@*.example", "j*e", "??", "*e")
	case 4:
		return "/" + strings.NewReplacer(".", `\.`, "@", `\@`, "+", `\+`, "/", `\/`).Replace(p.prefix()) + p.pick(".*", "[a-z.@]+", "~", ".{0,9}", "[^x]*", "@") + "/"
	case 5: // texts that are syntax elsewhere
		return p.pick(`/)|submission\.email.*~/`, `/)|(.*/`, `/[\--]"])|(submission.email.jane.*["]?/`, `/.*\u0000jane.*/`, `/"submission"@/`, `/@/`, `/#/`, `/~(x)/`,
			`/a|)/`, `/(jane|john)@/`, `/<1-99>/`, `/(@&jane.*)/`, `/.*/`, `"submission"`, `submission\.email\:jane`, `\u0000`, `*\u0000*`, "/[^\u0000]*/")
	case 6, 7:
		return word() + p.pick("~", "~1", "~2", "~0")
	case 8:
		return p.pick("[", "{") + p.pick(p.prefix(), word(), "*", date()) + " TO " + p.pick(p.prefix(), word(), "*", date()) + p.pick("]", "}")
	case 9:
		return p.pick(">", "<", ">=", "<=") + p.pick("42", "1987", "jane", "now", "1010", "")
	case 10:
		return "(" + word() + p.pick(",", " OR ", " ") + word() + ")"
	}
}

// query returns a random query.
func (p *pair) query() string { return p.group(2) }

func (p *pair) group(depth int) string {
	var b strings.Builder
	for i := range 1 + p.IntN(3) {
		if i > 0 {
			b.WriteString(p.pick(" ", " AND ", " OR ", " AND NOT ", " OR NOT ", " && ", " || "))
		}
		b.WriteString(p.pick("", "", "", "", "+", "-", "!"))
		switch p.IntN(8) {
		case 0:
			if depth > 0 {
				b.WriteString("(" + p.group(depth-1) + ")")
			} else {
				b.WriteString("*:*")
			}
		case 1:
			b.WriteString(p.pick("_exists_", "_missing_") + ":" + p.field())
		case 2:
			b.WriteString(p.value())
		case 3:
			b.WriteString(p.pick("*:*", "id:1007", "approval_status:app", "content_type:image", "created_on:[now-2d TO now]"))
		default:
			b.WriteString(p.field() + ":" + p.value())
		}
		if p.IntN(8) == 0 {
			b.WriteString(p.pick("^2", "^0.5", "^0", "^1e9"))
		}
	}
	return b.String()
}

// damaged returns a text with a random change, which often makes the query invalid.
func (p *pair) damaged(text string) string {
	r := []rune(text)
	at := p.IntN(len(r) + 1)
	switch p.IntN(3) {
	case 0:
		return string(r[:at])
	case 1:
		return string(r[at:])
	}
	return string(r[:at]) + p.pick("(", ")", `"`, "/", `\`, "~", "^", "[", "]", ":", "*", "\x00", "|", "&&", "é") + string(r[at:])
}
