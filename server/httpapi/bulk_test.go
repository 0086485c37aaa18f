package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

func TestImport(t *testing.T) {
	post := func(params, body string, status int, contains ...string) call {
		return call{method: "POST", url: "/v2/content/bulk" + params, token: "rw", body: body, status: status, contains: contains}
	}
	const whole = `{"id":2001,"content":{"content_type":"text","text":"two"}}`
	a := newApp(t)
	a.table(t, map[string]call{
		"nothing":              post("", "", 200),
		"blank lines":          post("", "\n  \r\n\n", 200),
		"bad on_conflict":      post("?on_conflict=merge", whole, 400, "problems/invalid-parameter", `"parameter":"on_conflict"`),
		"fail is the default":  post("?on_conflict=fail", `{"id":1001,"content":{"content_type":"text","text":"x"}}`, 200, `{"line":1,"status":409,"problem":{`, "problems/exists"),
		"no last line end":     post("", `{"id":2002,"content":{"content_type":"text","text":"x"}}`, 200, `{"line":1,"status":201,"id":2002}`+"\n"),
		"add-content body":     post("", `{"content_type":"text","caption":"x"}`+"\r\n", 200, `{"line":1,"status":201,"id":`),
		"tags of both forms":   post("", `{"id":2003,"content":{"content_type":"text","text":"x"},"tags":{"a":["b"],"c":[{"key":"d"}]}}`, 200, `"status":201`),
		"unknown bare unit":    post("", `{"id":2004,"content":{"content_type":"text","text":"x"},"activate_units":[17]}`, 200, `"status":422`, `"member":"activate_units"`),
		"whole unit":           post("", `{"id":2005,"content":{"content_type":"text","text":"x"},"activate_units":[{"id":71,"name":"Made","image_url":"https://a.example/i.png","click_through_url":"https://a.example/"}]}`, 200, `"status":201`),
		"managed unit":         post("", `{"id":2006,"content":{"content_type":"text","text":"x"},"activate_units":[{"id":72,"managed":true}]}`, 200, `"status":201`),
		"id 0":                 post("", `{"id":0,"content":{"content_type":"text","text":"x"}}`, 200, `"status":4`),
		"twice in one request": post("", `{"id":2007,"content":{"content_type":"text","text":"x"}}`+"\n"+`{"id":2007,"content":{"content_type":"text","text":"y"}}`, 200, `{"line":1,"status":201,"id":2007}`, `{"line":2,"status":409,`),
	})
	long := strings.Repeat("x", 1<<20+1)
	got := a.do(post("?on_conflict=replace", strings.Join([]string{
		whole, "", "not json", `{"content_type":"sound"}`, long, strings.Replace(whole, "two", "three", 1), `[]`, `{"content_type":"text","caption":"last"}`,
	}, "\n"), 200))
	var lines []string
	for line := range strings.Lines(string(got.body)) {
		var l struct {
			Line, Status int
			Problem      *struct{ Type string }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		said := fmt.Sprint(l.Line, " ", l.Status)
		if l.Problem != nil {
			said += " " + l.Problem.Type[strings.LastIndexByte(l.Problem.Type, '/')+1:]
		}
		lines = append(lines, said)
	}
	want := []string{"1 201", "3 400 invalid-body", "4 422 unacceptable", "5 413 too-large", "6 200", "7 400 invalid-body", "8 201"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if got.header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("Content-Type %q", got.header.Get("Content-Type"))
	}
	a.steps(
		call{url: "/v1/ugc/2001/", token: "rw", contains: []string{`"text":"three"`}},
		call{url: "/v1/activate_units/71", token: "ro", contains: []string{`"managed":false`}},
		call{url: "/v1/activate_units/72", token: "ro", status: 404},
	)
}

// TestImportLongestLine checks that the server accepts a line of exactly one mebibyte, with any kind of line end.
func TestImportLongestLine(t *testing.T) {
	a := newApp(t)
	frame := `{"content_type":"text","caption":"x","unknown":"%s"}`
	line := fmt.Sprintf(frame, strings.Repeat("x", 1<<20-len(frame)+2))
	if len(line) != 1<<20 {
		t.Fatalf("the line has %d bytes", len(line))
	}
	a.do(call{method: "POST", url: "/v2/content/bulk", token: "rw", body: line + "\r\n" + line + "\n" + line, contains: []string{`{"line":1,"status":201,`, `{"line":2,"status":201,`, `{"line":3,"status":201,`}})
	a.do(call{method: "POST", url: "/v2/content/bulk", token: "rw", body: line + " \n" + line, contains: []string{`{"line":1,"status":413,`, `{"line":2,"status":201,`}})
}

// TestExportImport exports one property and imports the result into another one. The export of the second property must be the same.
func TestExportImport(t *testing.T) {
	a := newApp(t)
	a.do(call{method: "POST", url: "/v2/content/", token: "rw", status: 201, body: `{"content_type":"text","caption":"é </p> \u2028","submission":{"username":"u","email":"u@mail.example"},"tags":{"hashtags":["ünï_1"]}}`})
	exported := a.do(call{url: "/v2/content/bulk", token: "rw", want: map[string]string{"Content-Type": "application/x-ndjson", "Cache-Control": "private, no-store"}})
	if n := bytes.Count(exported.body, []byte("\n")); n != 61 {
		t.Fatalf("%d lines, want 61", n)
	}
	imported := a.do(call{method: "POST", url: "/v2/content/bulk", token: "other-rw", body: string(exported.body)})
	if n := bytes.Count(imported.body, []byte(`"status":201`)); n != 61 {
		t.Fatalf("%d lines were taken:\n%.2000s", n, imported.body)
	}
	a.do(call{method: "DELETE", url: "/v2/content/7001", token: "other-rw", status: 204})
	again := a.do(call{url: "/v2/content/bulk", token: "other-rw", header: map[string]string{"Accept-Encoding": "gzip"}, want: map[string]string{"Content-Encoding": "gzip"}})
	// Short codes are unique across all properties, so the second property generates its own codes.
	plain := func(b []byte) string {
		var out strings.Builder
		for line := range strings.Lines(string(b)) {
			var v map[string]any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			delete(v, "short_code")
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(text, '\n'))
		}
		return out.String()
	}
	if diff := cmp.Diff(plain(exported.body), plain(again.body)); diff != "" {
		t.Errorf("export, import, export:\n%s", diff)
	}
	a.table(t, map[string]call{
		"query":     {url: "/v2/content/bulk?q=id:1001", token: "rw", contains: []string{`{"id":1001,`, `"tags":{`, `"submission":{`}, lacks: []string{`"id":1002`}},
		"blank":     {url: "/v2/content/bulk?q=+", token: "rw", contains: []string{`"id":1001`}},
		"none":      {url: "/v2/content/bulk?q=text:nowheretobefound", token: "rw", lacks: []string{"{"}, want: map[string]string{"X-Vitrine-Property": "shop/default"}},
		"bad query": {url: "/v2/content/bulk?q=(", token: "rw", status: 400, contains: []string{"problems/syntax-error"}},
		"head":      {method: "HEAD", url: "/v2/content/bulk", token: "rw", want: map[string]string{"Content-Type": "application/x-ndjson"}},
		"warns":     {url: "/v2/content/bulk?q=nofield:1", token: "rw", want: map[string]string{"Warning": "~unknown-field"}},
	})
}

// listen serves an app on a real network connection.
func (a *app) listen() *httptest.Server {
	srv := httptest.NewServer(a.server)
	a.t.Cleanup(srv.Close)
	return srv
}

// TestImportAnswersAtOnce checks that the server answers each line before the client sends the next one, on one connection, with HTTP/1 and
// HTTP/2.
func TestImportAnswersAtOnce(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", version), func(t *testing.T) {
			a := newApp(t)
			srv := httptest.NewUnstartedServer(a.server)
			srv.EnableHTTP2 = version == 2
			srv.StartTLS()
			defer srv.Close()
			body, lines := io.Pipe()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v2/content/bulk", body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token("rw"))
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.ProtoMajor != version {
				t.Fatalf("HTTP/%d", resp.ProtoMajor)
			}
			answers := bufio.NewScanner(resp.Body)
			for i := range 5 {
				fmt.Fprintf(lines, `{"id":%d,"content":{"content_type":"text","text":"live"}}`+"\n", 3001+i)
				if !answers.Scan() {
					t.Fatalf("line %d has no answer: %v", i+1, answers.Err())
				}
				if want := fmt.Sprintf(`{"line":%d,"status":201,"id":%d}`, i+1, 3001+i); answers.Text() != want {
					t.Fatalf("line %d: %s", i+1, answers.Text())
				}
				a.do(call{url: fmt.Sprintf("/v1/ugc/%d/", 3001+i), token: "ro"})
			}
			lines.CloseWithError(nil)
			if answers.Scan() || answers.Err() != nil {
				t.Errorf("after the last line: %q, %v", answers.Text(), answers.Err())
			}
			// The connection must be usable for another request.
			again, err := srv.Client().Get(srv.URL + "/v1/ugc/3001/?access_token=" + token("ro"))
			if err != nil {
				t.Fatal(err)
			}
			defer again.Body.Close()
			if again.StatusCode != http.StatusOK {
				t.Errorf("the next request: status %d", again.StatusCode)
			}
		})
	}
}

// TestImportOfARevokedToken checks that the server refuses lines that arrive after the token was revoked.
func TestImportOfARevokedToken(t *testing.T) {
	a := newApp(t)
	srv := a.listen()
	body, lines := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v2/content/bulk", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token("rw"))
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answers := bufio.NewScanner(resp.Body)
	fmt.Fprintln(lines, `{"id":3001,"content":{"content_type":"text","text":"live"}}`)
	answers.Scan()
	if _, err := a.lib.Remove(context.Background(), []library.Owner{owner(library.KindToken, "rw")}); err != nil {
		t.Fatal(err)
	}
	a.eventually("the token is refused", func() bool { return a.send(call{url: q("id:1001"), token: "rw"}).status == 403 })
	fmt.Fprintln(lines, `{"id":3002,"content":{"content_type":"text","text":"late"}}`)
	answers.Scan()
	if !strings.Contains(answers.Text(), `{"line":2,"status":403,`) {
		t.Errorf("the late line: %s", answers.Text())
	}
	if answers.Scan() {
		t.Errorf("a further answer: %s", answers.Text())
	}
	lines.CloseWithError(nil)
	a.do(call{url: q("id:3002"), token: "ro", contains: []string{`"total_results":0`}})
}

// TestBrokenImport sends a body that ends early. The answered lines must stay stored, and the caller must be able to see that the response
// is incomplete.
func TestBrokenImport(t *testing.T) {
	a := newApp(t)
	srv := a.listen()
	body, lines := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v2/content/bulk", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token("rw"))
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answers := bufio.NewReader(resp.Body)
	fmt.Fprintln(lines, `{"id":3001,"content":{"content_type":"text","text":"live"}}`)
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(lines, `{"id":3002,"content":`)
	lines.CloseWithError(errors.New("gone"))
	if rest, err := io.ReadAll(answers); err == nil {
		t.Errorf("the answer ended well: %q", rest)
	}
	a.do(call{url: "/v1/ugc/3001/", token: "ro"})
	a.do(call{url: "/v1/ugc/3002/", token: "ro", status: 404})
}

// TestIdleImport checks that the server closes the connection if the client sends nothing for too long.
func TestIdleImport(t *testing.T) {
	a := newApp(t, func(o *httpapi.Options) { o.StreamIdle = 50 * time.Millisecond })
	srv := a.listen()
	body, lines := io.Pipe()
	defer lines.CloseWithError(nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v2/content/bulk", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token("rw"))
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if rest, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the answer ended well: %q", rest)
	}
}

// brokenBody is a body whose sender disconnects.
type brokenBody struct{ sent io.Reader }

func (b brokenBody) Read(p []byte) (int, error) {
	if n, err := b.sent.Read(p); err == nil {
		return n, nil
	}
	return 0, io.ErrUnexpectedEOF
}

// TestEncodedBodies checks that the error about a compressed body names the content coding.
func TestEncodedBodies(t *testing.T) {
	a := newApp(t)
	for _, url := range []string{"/v2/content/", "/v2/content/bulk", "/v1/tags/"} {
		a.do(call{
			method: "POST", url: url, token: "rw", header: map[string]string{"Content-Encoding": "gzip"}, body: "\x1f\x8b\x08",
			status: 400, contains: []string{"problems/invalid-body", "does not accept a Content-Encoding"},
		})
	}
	a.do(call{
		method: "POST", url: "/v2/content/", token: "rw", header: map[string]string{"Content-Encoding": "Identity"},
		body: `{"content_type":"text","caption":"plain"}`, status: 201,
	})
}

// TestLengthIsJudgedFirst checks that the server rejects a request whose Content-Length exceeds the limit without reading the body.
func TestLengthIsJudgedFirst(t *testing.T) {
	a := newApp(t)
	r := httptest.NewRequest(http.MethodPost, "/v2/content/?access_token="+token("rw"), iotest.ErrReader(errors.New("it was read")))
	r.ContentLength = 1<<20 + 1
	w := httptest.NewRecorder()
	a.server.ServeHTTP(w, r)
	if w.Code != 413 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestBodyThatEndsEarly(t *testing.T) {
	a := newApp(t)
	for _, path := range []string{"/v2/content/", "/v2/content/filters", "/v1/tags/"} {
		r := call{method: "POST", url: path, token: "rw"}.request()
		r.Body = io.NopCloser(brokenBody{strings.NewReader(`{"q":`)})
		w := httptest.NewRecorder()
		a.server.ServeHTTP(w, r)
		if got := a.check(r, w.Result()); got.status != 400 || !strings.Contains(string(got.body), "problems/invalid-body") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// TestFailingExport checks that a caller cannot mistake a failed export for a complete one, whether it fails immediately or in the middle.
func TestFailingExport(t *testing.T) {
	for name, lines := range map[string]int{"at once": 0, "in the middle": 3} {
		t.Run(name, func(t *testing.T) {
			a, h := newHookedApp(t)
			h.export = func() iter.Seq2[[]byte, error] {
				return func(yield func([]byte, error) bool) {
					for range lines {
						if !yield([]byte(`{"id":1}`), nil) {
							return
						}
					}
					yield(nil, errors.New("bad block"))
				}
			}
			srv := a.listen()
			resp, err := srv.Client().Get(srv.URL + "/v2/content/bulk?access_token=" + token("rw"))
			if err != nil {
				if lines == 0 {
					t.Fatal(err)
				}
				return
			}
			defer resp.Body.Close()
			_, err = io.ReadAll(resp.Body)
			if lines == 0 && resp.StatusCode != http.StatusInternalServerError {
				t.Errorf("status %d", resp.StatusCode)
			}
			if lines > 0 && err == nil {
				t.Error("the export ended well")
			}
		})
	}
}

// TestExportWithUnreadableItems checks that an export contains all readable items, and that the log and the trailer list the unreadable
// items. If the caller accepts no trailers, the response must not end like a complete one.
func TestExportWithUnreadableItems(t *testing.T) {
	const line = `{"id":1}`
	unreadable := func(ids ...item.ID) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for id := item.ID(1); id <= 9; id++ {
				var err error
				if slices.Contains(ids, id) {
					err = &library.UnreadableItemError{ID: id, Err: errors.New("bad block")}
				}
				if !yield([]byte(line), err) {
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		unreadable []item.ID
		count, ids string
	}{
		"none":  {nil, "0", ""},
		"some":  {[]item.ID{2, 5, 6, 7}, "4", "2, 5-7"},
		"first": {[]item.ID{1}, "1", "1"},
		"last":  {[]item.ID{8, 9}, "2", "8-9"},
		"all":   {[]item.ID{1, 2, 3, 4, 5, 6, 7, 8, 9}, "9", "1-9"},
	} {
		for _, version := range []int{1, 2} {
			for _, te := range []string{"", "deflate, Trailers"} {
				t.Run(fmt.Sprintf("%s, HTTP/%d, TE %q", name, version, te), func(t *testing.T) {
					if version == 2 && te != "" {
						te = "trailers" // HTTP/2 permits no other value
					}
					a, h := newHookedApp(t)
					h.export = func() iter.Seq2[[]byte, error] { return unreadable(c.unreadable...) }
					srv := httptest.NewUnstartedServer(a.server)
					srv.EnableHTTP2 = version == 2
					srv.StartTLS()
					defer srv.Close()
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/v2/content/bulk", nil)
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Authorization", "Bearer "+token("rw"))
					if te != "" {
						req.Header.Set("TE", te)
					}
					resp, err := srv.Client().Do(req)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					body, err := io.ReadAll(resp.Body)
					if got, want := strings.Count(string(body), line+"\n"), 9-len(c.unreadable); got != want || resp.StatusCode != http.StatusOK {
						t.Errorf("status %d with %d lines; want %d", resp.StatusCode, got, want)
					}
					if whole := te != "" || len(c.unreadable) == 0; whole != (err == nil) {
						t.Errorf("the answer ends with %v", err)
					}
					if te != "" {
						count, ids := resp.Trailer.Get("X-Vitrine-Unreadable"), resp.Trailer.Get("X-Vitrine-Unreadable-Ids")
						if count != c.count || ids != c.ids {
							t.Errorf("the trailer is %q, %q; want %q, %q", count, ids, c.count, c.ids)
						}
					}
					srv.Close()
					if logged := strings.Contains(a.log.String(), "an export lacks items that cannot be read"); logged != (len(c.unreadable) > 0) {
						t.Errorf("the log says\n%s", a.log)
					}
				})
			}
		}
	}
}

// TestCallerHangsUp checks that the log and the metrics do not blame the server if the caller disconnects.
func TestCallerHangsUp(t *testing.T) {
	for name, c := range map[string]struct {
		url, route, status string
	}{
		"in the middle of the answer": {"/v2/content/bulk", "/v2/content/bulk", "200"},
		"before the answer":           {q("id:1001"), "/v2/content/items", "499"},
	} {
		for _, version := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, HTTP/%d", name, version), func(t *testing.T) {
				registry := prometheus.NewRegistry()
				a, h := newHookedApp(t, func(o *httpapi.Options) { o.Metrics, o.QueryBudget = registry, time.Minute })
				arrived := make(chan struct{}, 1)
				h.read = func(ctx context.Context, _ library.Read) (*library.Page, error) {
					arrived <- struct{}{}
					<-ctx.Done()
					return nil, fmt.Errorf("walk: %w", ctx.Err())
				}
				line := []byte(`{"id":1,"text":"` + strings.Repeat("x", 16<<10) + `"}`)
				h.export = func() iter.Seq2[[]byte, error] {
					return func(yield func([]byte, error) bool) {
						for yield(line, nil) {
						}
					}
				}
				srv := httptest.NewUnstartedServer(a.server)
				srv.EnableHTTP2 = version == 2
				srv.StartTLS()
				defer srv.Close()
				ctx, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+c.url, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+token("rw"))
				req.Header.Set("Accept-Encoding", "identity")
				go func() {
					select {
					case <-arrived:
						hangUp()
					case <-ctx.Done():
					}
				}()
				if resp, err := srv.Client().Do(req); err == nil {
					if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
						t.Errorf("read the beginning: %v", err)
					}
					hangUp()
					resp.Body.Close()
				}
				a.eventually("the request is logged", func() bool { return strings.Contains(a.log.String(), "msg=request ") })
				log := a.log.String()
				if strings.Contains(log, "level=ERROR") || !strings.Contains(log, `level=INFO msg="the caller closed the connection"`) {
					t.Errorf("the log:\n%s", log)
				}
				got := measured(t, registry)
				if series := "vitrine_http_requests_total read-write GET " + c.route + " AllItems " + c.status; got[series] != 1 {
					t.Errorf("%s is not 1 in %v", series, got)
				}
			})
		}
	}
}

// TestNoIDIsLeft imports an item with the highest id. After that, the server must refuse a new item without an id and name the cause, but
// still import an item with an id.
func TestNoIDIsLeft(t *testing.T) {
	a := newApp(t)
	a.do(call{method: "POST", url: "/v2/content/bulk", token: "rw", body: `{"id":9007199254740991,"content":{"content_type":"text","text":"x"}}`, contains: []string{`"status":201`}})
	a.do(call{method: "POST", url: "/v2/content/", token: "rw", body: `{"content_type":"text","caption":"x"}`, status: 422,
		contains: []string{`"member":"id"`, "that is already 9007199254740991", "with an explicit id"}})
	a.do(call{method: "POST", url: "/v2/content/bulk", token: "rw", body: `{"id":77,"content":{"content_type":"text","text":"x"}}`, contains: []string{`"status":201`}})
}
