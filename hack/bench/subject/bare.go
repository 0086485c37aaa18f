package subject

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vitrine-dev/vitrine/hack/bench/anchor"
	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/loopback"
)

// leaf describes a response of the bare server, whose body is in a file.
type leaf struct {
	Header         http.Header
	Offset, Length int64
}

// Bare is a running bare server.
type Bare struct {
	*child.Child
	address string
}

// bareMode is the first argument that makes this binary run as the bare server.
const bareMode = "serve-bare"

// StartBare sends requests, and starts a bare server that sends the same responses with every header. All POSTs have the same response. The
// server responds to a POST only after it has appended the body to the file at path + ".posts" and synced the file.
func StartBare(tb testing.TB, path string, requests []load.Request, want int) *Bare {
	tb.Helper()
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	contents, length := map[string]leaf{}, int64(0)
	for _, r := range requests {
		header, body := load.Do(tb, r, want)
		header.Del("Date") // net/http adds this header to each response
		contents[leafKey(tb, r)] = leaf{header, length, int64(len(body))}
		n, err := file.Write(body)
		if err != nil {
			tb.Fatal(err)
		}
		length += int64(n)
	}
	text, _ := json.Marshal(contents) // this map can always be encoded
	if err := os.WriteFile(path+".contents", text, 0o600); err != nil {
		tb.Fatal(err)
	}
	free, err := loopback.Free(1)
	if err != nil {
		tb.Fatal(err)
	}
	b := &Bare{address: free[0]}
	b.Child = child.Start(tb, child.Spec{Name: "the bare server", Path: "/proc/self/exe", Args: []string{bareMode, b.address, path, path + ".posts"}, Output: path + ".log"})
	b.Await(tb, "listening", func() bool {
		connection, err := net.Dial("tcp", b.address) //nolint:noctx // the address contains no name to resolve
		return err == nil && connection.Close() == nil
	})
	return b
}

// leafKey returns the key of the response to a request: the path and the parameters, or POST.
func leafKey(tb testing.TB, r load.Request) string {
	tb.Helper()
	if r.Method == http.MethodPost {
		return r.Method
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		tb.Fatal(err)
	}
	return u.RequestURI()
}

// At returns a copy of r with the address of the bare server.
func (b *Bare) At(r load.Request) load.Request {
	if u, err := url.Parse(r.URL); err == nil {
		r.URL = "http://" + b.address + u.RequestURI()
	}
	return r
}

// bareServer responds from memory.
type bareServer struct {
	contents map[string]leaf
	book     []byte
	posts    chan *barePost
}

// barePost is the body of a POST that is being written to disk.
type barePost struct {
	body []byte
	done chan error
}

// runBare is the main function of the bare server. It serves requests until the process is killed.
func runBare(address, book, posts string) error {
	s := &bareServer{contents: map[string]leaf{}, posts: make(chan *barePost, 1024)}
	if err := s.open(book); err != nil {
		return fmt.Errorf("open the book: %w", err)
	}
	file, err := os.OpenFile(posts, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the file of posts: %w", err)
	}
	go s.write(file)
	return (&http.Server{Addr: address, Handler: s, ReadHeaderTimeout: time.Minute}).ListenAndServe()
}

// open maps the bodies of the book into memory, so that responses come directly from the page cache.
func (s *bareServer) open(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	s.book, err = unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return err
	}
	contents, err := os.ReadFile(path + ".contents")
	if err != nil {
		return err
	}
	return json.Unmarshal(contents, &s.contents)
}

// ServeHTTP sends the stored response. For a GET, it does no other work.
func (s *bareServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		s.post(w, r)
		return
	}
	l, ok := s.contents[r.RequestURI]
	if !ok {
		http.NotFound(w, r)
		return
	}
	s.send(w, http.StatusOK, l)
}

func (s *bareServer) send(w http.ResponseWriter, status int, l leaf) {
	h := w.Header()
	for name, values := range l.Header {
		h[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write(s.book[l.Offset:][:l.Length])
}

// posted is the decoded body of a POST. It has all members that the bodies in the benchmark have.
type posted struct {
	ContentType    string `json:"content_type"`
	ApprovalStatus string `json:"approval_status"`
	ContentURL     string `json:"content_url"`
	Caption        string `json:"caption"`
	Author         struct {
		Username  string `json:"username"`
		AuthorRef string `json:"author_ref"`
	} `json:"author"`
}

func (s *bareServer) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var p posted
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	if err != nil || p.ContentType == "" {
		http.Error(w, "invalid body", http.StatusBadRequest)
		return
	}
	post := &barePost{append(body, '\n'), make(chan error, 1)}
	s.posts <- post
	if err := <-post.done; err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.send(w, http.StatusCreated, s.contents[http.MethodPost])
}

// write appends posts to the file until s.posts is closed. It calls fdatasync once for all posts that have arrived since the last call.
func (s *bareServer) write(file *os.File) {
	var group []*barePost
	var buffer []byte
	for first := range s.posts {
		group, buffer = append(group[:0], first), append(buffer[:0], first.body...)
	gather:
		for {
			select {
			case next := <-s.posts:
				group, buffer = append(group, next), append(buffer, next.body...)
			default:
				break gather
			}
		}
		_, err := file.Write(buffer)
		if err == nil {
			err = unix.Fdatasync(int(file.Fd()))
		}
		for _, p := range group {
			p.done <- err
		}
	}
}

// Main runs a child program of a subject if args request it, and reports whether it has run one.
func Main(args []string) (bool, error) {
	switch {
	case len(args) == 4 && args[0] == bareMode:
		return true, runBare(args[1], args[2], args[3])
	case len(args) == 2 && args[0] == anchor.EngineMode:
		return true, anchor.RunEngine(args[1])
	}
	return false, nil
}
