package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
)

// bulkServer is a server that imports lines into one property. It processes one request at a time. Its connection fails as the test
// specifies.
type bulkServer struct {
	t  *testing.T
	mu sync.Mutex // held while a request is processed
	// items counts stored items by id, or by caption for lines without an id.
	items map[string]int
	// requests are the lines of each request.
	requests [][]string
	// faults[i] is the fault of request i. Later requests have no fault.
	faults []fault
}

type fault struct {
	// status, if not 0, is the status of a response that replaces the normal one. documented makes that response a problem document.
	status     int
	documented bool
	// If cut is set, store and answer are the numbers of lines that the server stores and answers before the connection breaks.
	cut           bool
	store, answer int
	// refuse, if not 0, is the number of the first line that is answered with an error: with status refuseWith, or 503 if refuseWith is 0.
	refuse, refuseWith int
}

func (s *bulkServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v2/content/bulk" || r.Header.Get("Authorization") != "Bearer secret-token" {
		s.t.Errorf("unexpected request: %s %s", r.Method, r.URL)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	in := bufio.NewScanner(r.Body)
	in.Buffer(nil, 4<<20)
	for in.Scan() {
		lines = append(lines, in.Text())
	}
	var f fault
	if n := len(s.requests); n < len(s.faults) {
		f = s.faults[n]
	}
	s.requests = append(s.requests, lines)
	if !f.cut {
		f.store, f.answer = len(lines), len(lines)
	}
	answers := json.NewEncoder(w)
	if f.status != 0 {
		for _, l := range lines[:min(f.store, len(lines))] {
			if f.status == http.StatusBadGateway {
				s.store(l, false)
			}
		}
		if f.documented {
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(f.status)
		fmt.Fprintf(w, `{"title":"fault","status":%d}`, f.status)
		return
	}
	for i, l := range lines {
		if i >= f.store && i >= f.answer {
			break
		}
		a := map[string]any{"line": i + 1, "status": cmp.Or(f.refuseWith, 503), "problem": map[string]any{"detail": "refused"}}
		if f.refuse == 0 || i+1 < f.refuse {
			a = s.store(l, r.URL.Query().Get("on_conflict") == "replace")
			a["line"] = i + 1
		}
		if i < f.answer {
			_ = answers.Encode(a)
		}
	}
	if f.cut {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func (s *bulkServer) store(l string, replace bool) map[string]any {
	var body struct {
		ID      int64           `json:"id"`
		Content json.RawMessage `json:"content"`
		Caption string          `json:"caption"`
	}
	if err := json.Unmarshal([]byte(l), &body); err != nil {
		return map[string]any{"status": 400, "problem": map[string]any{"title": "Bad", "detail": "content.text: not JSON"}}
	}
	if body.Content == nil {
		s.items[body.Caption]++
		return map[string]any{"status": 201, "id": 1000 + len(s.items)}
	}
	name := fmt.Sprint(body.ID)
	if s.items[name] > 0 {
		if replace {
			return map[string]any{"status": 200, "id": body.ID}
		}
		return map[string]any{"status": 409, "problem": map[string]any{"detail": "an item with this id already exists"}}
	}
	s.items[name] = 1
	return map[string]any{"status": 201, "id": body.ID}
}

// start starts s. It returns a client that records its waits instead of waiting.
func (s *bulkServer) start(t *testing.T) (*Client, *[]time.Duration) {
	t.Helper()
	s.t, s.items = t, map[string]int{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	waits := &[]time.Duration{}
	c, err := New(Options{Server: server.URL, Token: "secret-token", Wait: func(ctx context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c, waits
}

const withIDs = `{"id":1,"content":{}}
{"id":2,"content":{}}
{"id":3,"content":{}}
{"id":4,"content":{}}
{"id":5,"content":{}}
`

const withoutIDs = `{"caption":"a"}
{"caption":"b"}
{"caption":"c"}
`

func TestImport(t *testing.T) {
	cases := map[string]struct {
		input    string
		before   []string // existing ids
		faults   []fault
		options  ImportOptions
		want     Checkpoint // without Bytes and SHA256
		failed   []string
		requests []int // lines in each request
		wantErr  error
		stored   map[string]int
	}{
		"in chunks": {
			input: withIDs, options: ImportOptions{ChunkLines: 2},
			want: Checkpoint{Lines: 5, Sent: 5, Created: 5}, requests: []int{2, 2, 1},
		},
		"chunks bounded by bytes": {
			input: withIDs, options: ImportOptions{ChunkBytes: 30},
			want: Checkpoint{Lines: 5, Sent: 5, Created: 5}, requests: []int{2, 2, 1},
		},
		"blank lines, line ends and no last newline": {
			input: "\n" + `{"id":1,"content":{}}` + "\r\n  \n" + `{"id":2,"content":{}}`,
			want:  Checkpoint{Lines: 4, Sent: 4, Created: 2}, requests: []int{2},
		},
		"nothing": {input: "", want: Checkpoint{}},
		"bad lines are told by number, the others stored": {
			input: "{\"id\":1,\"content\":{}}\n\nnonsense\n" + `{"id":2,"content":{}}` + "\n", before: []string{"2"},
			want:     Checkpoint{Lines: 4, Sent: 4, Created: 1, Failed: 2},
			failed:   []string{"line 3: content.text: not JSON", "line 4: an item with this id already exists"},
			requests: []int{3},
		},
		"a line that is too long": {
			input:    `{"id":1,"content":"` + strings.Repeat("x", maxLine) + "\"}\n" + withIDs,
			want:     Checkpoint{Lines: 6, Sent: 6, Created: 5, Failed: 1},
			failed:   []string{"line 1: longer than 1048576 bytes"},
			requests: []int{5},
		},
		"skip what is there": {
			input: withIDs, before: []string{"2", "3"}, options: ImportOptions{OnConflict: Skip},
			want: Checkpoint{Lines: 5, Sent: 5, Created: 3, Present: 2}, requests: []int{5},
		},
		"replace what is there": {
			input: withIDs, before: []string{"2", "3"}, options: ImportOptions{OnConflict: Replace},
			want: Checkpoint{Lines: 5, Sent: 5, Created: 3, Replaced: 2}, requests: []int{5},
		},
		"the server asks for patience": {
			input: withIDs, faults: []fault{{status: 503, documented: true}, {status: 429, documented: true}},
			want: Checkpoint{Lines: 5, Sent: 5, Created: 5}, requests: []int{5, 5, 5},
		},
		"an answer lost after everything was stored": {
			input: withIDs, faults: []fault{{cut: true, store: 5, answer: 2}},
			want: Checkpoint{Lines: 5, Sent: 5, Created: 2, Present: 3}, requests: []int{5, 3},
		},
		"an answer lost behind a proxy": {
			input: withIDs, faults: []fault{{status: 502}},
			want: Checkpoint{Lines: 5, Sent: 5, Present: 5}, requests: []int{5, 5},
		},
		"the disk fills up in the middle": {
			input: withoutIDs, faults: []fault{{refuse: 2}},
			want: Checkpoint{Lines: 3, Sent: 3, Created: 3}, requests: []int{3, 2},
			stored: map[string]int{"a": 1, "b": 1, "c": 1},
		},
		"the token is revoked in the middle": {
			input: withoutIDs, faults: []fault{{refuse: 2, refuseWith: 403}},
			want: Checkpoint{Lines: 1, Sent: 1, Created: 1}, requests: []int{3},
			wantErr: &Problem{Status: 403, Detail: "refused", Documented: true},
		},
		"no id, not sent: safe to send again": {
			input: withoutIDs, faults: []fault{{status: 503, documented: true}},
			want: Checkpoint{Lines: 3, Sent: 3, Created: 3}, requests: []int{3, 3},
			stored: map[string]int{"a": 1, "b": 1, "c": 1},
		},
		"no id, answer lost: stop": {
			input: withoutIDs, faults: []fault{{cut: true, store: 3, answer: 1}},
			want: Checkpoint{Lines: 1, Sent: 3, Created: 1}, requests: []int{3},
			wantErr: &UnansweredError{First: 2, Last: 3, Count: 2},
			stored:  map[string]int{"a": 1, "b": 1, "c": 1},
		},
		"no id, answer lost: resend": {
			input: withoutIDs, faults: []fault{{cut: true, store: 2, answer: 1}}, options: ImportOptions{Unanswered: Resend},
			want: Checkpoint{Lines: 3, Sent: 3, Created: 3}, requests: []int{3, 2},
			stored: map[string]int{"a": 1, "b": 2, "c": 1},
		},
		"no id, answer lost: pass over": {
			input: withoutIDs, faults: []fault{{cut: true, store: 2, answer: 1}}, options: ImportOptions{Unanswered: PassOver},
			want: Checkpoint{Lines: 3, Sent: 3, Created: 1, Unknown: 2}, requests: []int{3},
			stored: map[string]int{"a": 1, "b": 1},
		},
		"refused for good": {
			input: withIDs, faults: []fault{{status: 403, documented: true}},
			want: Checkpoint{}, requests: []int{5}, wantErr: &Problem{Title: "fault", Status: 403, RetryAfter: 7 * time.Second, Documented: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &bulkServer{faults: tc.faults}
			c, _ := s.start(t)
			for _, id := range tc.before {
				s.items[id] = 1
			}
			var failed []string
			tc.options.Failed = func(e LineError) { failed = append(failed, e.Error()) }
			got, err := c.Import(t.Context(), strings.NewReader(tc.input), tc.options)
			if diff := gocmp.Diff(tc.wantErr, unwrapped(err)); diff != "" {
				t.Errorf("error %v: -want +got\n%s", err, diff)
			}
			got.Bytes, got.SHA256 = 0, ""
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := gocmp.Diff(tc.failed, failed); diff != "" {
				t.Errorf("failed lines: -want +got\n%s", diff)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			var requests []int
			for _, r := range s.requests {
				requests = append(requests, len(r))
			}
			if diff := gocmp.Diff(tc.requests, requests); diff != "" {
				t.Errorf("lines a request: -want +got\n%s", diff)
			}
			if tc.stored != nil {
				if diff := gocmp.Diff(tc.stored, s.items); diff != "" {
					t.Errorf("stored: -want +got\n%s", diff)
				}
			}
		})
	}
}

// unwrapped returns the typed error that err wraps, for comparison.
func unwrapped(err error) error {
	if e, ok := errors.AsType[*UnansweredError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*Problem](err); ok {
		return e
	}
	return err
}

func TestImportRespectsRetryAfter(t *testing.T) {
	s := &bulkServer{faults: []fault{{status: 503, documented: true}, {status: 502}, {status: 502}}}
	c, waits := s.start(t)
	if _, err := c.Import(t.Context(), strings.NewReader(withIDs), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(*waits) != 3 || (*waits)[0] != 7*time.Second {
		t.Fatalf("waited %v; want 7 s as asked, then twice by itself", *waits)
	}
	if (*waits)[1] < 400*time.Millisecond || (*waits)[2] <= (*waits)[1] {
		t.Errorf("waited %v; want growing pauses", *waits)
	}
}

func TestImportGivesUp(t *testing.T) {
	s := &bulkServer{faults: []fault{{status: 503, documented: true}, {status: 503, documented: true}}}
	c, _ := s.start(t)
	at, err := c.Import(t.Context(), strings.NewReader(withoutIDs), ImportOptions{GiveUpAfter: time.Nanosecond})
	if p, ok := errors.AsType[*Problem](err); !ok || p.Status != 503 {
		t.Fatalf("error %v", err)
	}
	if at.Sent != 0 {
		t.Errorf("lines up to %d are in doubt, though the server said that it did nothing", at.Sent)
	}
}

// TestResume stops an import at every checkpoint and resumes it.
func TestResume(t *testing.T) {
	for stop := range 6 {
		t.Run(fmt.Sprint(stop), func(t *testing.T) {
			s := &bulkServer{}
			c, _ := s.start(t)
			var kept Checkpoint
			saves := 0
			stopped := errors.New("stopped")
			_, err := c.Import(t.Context(), strings.NewReader(withIDs), ImportOptions{ChunkLines: 2, Save: func(at Checkpoint) error {
				if saves++; saves > stop {
					return stopped
				}
				kept = at
				return nil
			}})
			if !errors.Is(err, stopped) {
				t.Fatalf("error %v", err)
			}
			var failed []LineError
			at, err := c.Import(t.Context(), strings.NewReader(withIDs), ImportOptions{
				ChunkLines: 2, Resume: &kept, Failed: func(e LineError) { failed = append(failed, e) },
			})
			if err != nil || at.Lines != 5 || at.Created+at.Present != 5 || at.Failed != 0 || len(failed) != 0 {
				t.Errorf("after resuming from %+v: %+v, %v, failed %v", kept, at, err, failed)
			}
			if at.Bytes != int64(len(withIDs)) {
				t.Errorf("%d bytes; want %d", at.Bytes, len(withIDs))
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.items) != 5 {
				t.Errorf("stored: %v", s.items)
			}
		})
	}
}

func TestResumeRefusesAnotherInput(t *testing.T) {
	s := &bulkServer{faults: []fault{{}, {status: 403, documented: true}}}
	c, _ := s.start(t)
	at, err := c.Import(t.Context(), strings.NewReader(withIDs), ImportOptions{ChunkLines: 2})
	if err == nil || at.Lines != 2 {
		t.Fatalf("%+v, %v", at, err)
	}
	for name, input := range map[string]string{
		"another beginning": strings.Replace(withIDs, "1", "7", 1),
		"shorter":           `{"id":1,"content":{}}` + "\n",
		"empty":             "",
	} {
		if _, err := c.Import(t.Context(), strings.NewReader(input), ImportOptions{Resume: &at}); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	longer, err := c.Import(t.Context(), strings.NewReader(withIDs+`{"id":6,"content":{}}`), ImportOptions{Resume: &at})
	if err != nil || longer.Lines != 6 || longer.Created != 6 {
		t.Errorf("with lines added at the end: %+v, %v", longer, err)
	}
}

func TestInterruptLetsTheRequestFinish(t *testing.T) {
	s := &bulkServer{}
	c, _ := s.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	at, err := c.Import(ctx, strings.NewReader(withoutIDs), ImportOptions{ChunkLines: 2, Save: func(at Checkpoint) error {
		if at.Sent == 2 {
			cancel() // the first request is about to be sent
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if at.Lines != 2 || at.Sent != 2 || at.Created != 2 {
		t.Errorf("%+v; want the first request answered and the second not sent", at)
	}
}

// TestInterruptWhileReading ends an import that waits for lines of a pipe. The lines before must be stored, and the import must not wait for
// more.
func TestInterruptWhileReading(t *testing.T) {
	s := &bulkServer{}
	c, _ := s.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	from, to := io.Pipe()
	defer to.Close()
	go func() { _, _ = io.WriteString(to, withoutIDs) }()
	at, err := c.Import(ctx, from, ImportOptions{ChunkLines: 3, Save: func(at Checkpoint) error {
		if at.Lines == 3 {
			cancel()
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) || at.Lines != 3 || at.Sent != 3 || at.Created != 3 {
		t.Errorf("%+v, %v; want three lines stored, and the end of the context", at, err)
	}
}

// TestIdentified checks which lines can safely be sent again. A line that the server accepts can be sent again only if the server reads an
// id from it.
func TestIdentified(t *testing.T) {
	for raw, tc := range map[string]struct{ identified, refused bool }{
		`{"id":5,"content":{"content_type":"text"}}`:                  {true, false},
		`{"id":1000000,"content_type":"text","caption":"a"}`:          {true, false},
		`{"id":1000000,"content_type":"text","caption":"a"}` + "\r\n": {true, false},
		"\uFEFF" + `{"id":5,"content_type":"text","caption":"a"}`:     {true, false},
		`{"id":5,"content":null,"content_type":"text","caption":"a"}`: {true, false},
		`{"id":5e2,"content_type":"text","caption":"a"}`:              {true, false},
		`{"id":null,"id":5,"content_type":"text","caption":"a"}`:      {true, true},
		`{"id":5,"id":null,"content_type":"text","caption":"a"}`:      {true, true},
		`{"id":null,"content_type":"text","caption":"a"}`:             {false, false},
		`{"content_type":"text","caption":"a"}`:                       {false, false},
		`{"Id":5,"content_type":"text","caption":"a"}`:                {false, false}, // the server matches names exactly
		`{"Id":5,"content":{"content_type":"text"}}`:                  {false, false},
		`{"content":{"id":5,"content_type":"text"}}`:                  {false, false},
		`{"id":5}`: {true, true}, // without a content_type
		`{"id":5,"Content":{"content_type":"text"}}`: {true, true},
		`{"Id":5}`:       {false, true},
		`{"content":{}}`: {false, true},
		`{"id":"5","content":{"content_type":"text"}}`:                {true, true},
		`{"id":"","content":{"content_type":"text"}}`:                 {true, true},
		`{"id":0,"content_type":"text","caption":"a"}`:                {true, true},
		`{"id":-1,"content_type":"text","caption":"a"}`:               {true, true},
		`{"id":1.5,"content_type":"text","caption":"a"}`:              {true, true},
		`{"id":9007199254740992,"content_type":"text","caption":"a"}`: {true, true},
		`[1]`:                             {true, true},
		`{"id":5`:                         {true, true},
		`{"id":5,"id2":"` + "\xff" + `"}`: {true, true},
	} {
		got := (&line{raw: []byte(raw)}).identified()
		if got != tc.identified {
			t.Errorf("%s: identified %t, want %t", raw, got, tc.identified)
		}
		parsed, err := item.ParseLine([]byte(raw), item.ParseOptions{})
		if (err != nil) != tc.refused {
			t.Errorf("%s: error of the server %v, want one: %t", raw, err, tc.refused)
		}
		if err == nil && got != (parsed.Item.ID != 0) {
			t.Errorf("%s: identified %t, and the server reads the id %d", raw, got, parsed.Item.ID)
		}
	}
}
