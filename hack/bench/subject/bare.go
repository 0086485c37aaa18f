package subject

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vitrine-dev/vitrine/hack/bench/anchor"
	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/loopback"
)

// Book contains the responses of the bare server, in two files: the bodies, and a table of contents.
type Book struct {
	path     string
	file     *os.File
	contents *os.File
	encoder  *json.Encoder
	length   int64
}

// leaf is one line of the table of contents. It describes a response.
type leaf struct {
	Key    string
	Header http.Header
	Offset int64
	Length int64
}

// NewBook creates an empty book.
func NewBook(path string) (*Book, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create the book: %w", err)
	}
	contents, err := os.Create(path + ".contents")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the table of contents: %w", err), file.Close())
	}
	return &Book{path: path, file: file, contents: contents, encoder: json.NewEncoder(contents)}, nil
}

// leafKey returns the key of the response to a request: the path, the parameters and the accepted encoding. All posts have the same
// response, and therefore the same key.
func leafKey(method, uri string, header http.Header) string {
	if method == http.MethodPost {
		return method
	}
	return uri + " " + header.Get("Accept-Encoding")
}

// Add adds the response to a request to the book, with every header that Vitrine sent.
func (b *Book) Add(r load.Request, header http.Header, body []byte) error {
	header = header.Clone()
	header.Del("Date") // net/http adds this header to each response
	if err := b.encoder.Encode(leaf{leafKey(r.Method, r.URL.RequestURI(), r.Header), header, b.length, int64(len(body))}); err != nil {
		return fmt.Errorf("write the table of contents: %w", err)
	}
	b.length += int64(len(body))
	if _, err := b.file.Write(body); err != nil {
		return fmt.Errorf("write the book: %w", err)
	}
	return nil
}

// Bytes returns the length of all bodies.
func (b *Book) Bytes() int64 { return b.length }

// Close finishes the book.
func (b *Book) Close() error { return errors.Join(b.file.Close(), b.contents.Close()) }

// Bare is a running bare server.
type Bare struct {
	*child.Child
	address string
}

// self is the path of this binary.
const self = "/proc/self/exe"

// bareMode is the first argument that makes this binary run as the bare server.
const bareMode = "serve-bare"

// StartBare starts the bare server, which sends the responses in the book. The server responds to a POST only after it has appended the
// body to a file in dir and synced the file.
func StartBare(ctx context.Context, dir string, book *Book) (*Bare, error) {
	free, err := loopback.Free(1)
	if err != nil {
		return nil, err
	}
	b := &Bare{address: free[0]}
	args := []string{bareMode, "-listen", b.address, "-append", filepath.Join(dir, "bare-posts"), "-book", book.path}
	if b.Child, err = child.Start(child.Spec{Name: "the bare server", Path: self, Args: args, Output: filepath.Join(dir, "bare.log")}); err != nil {
		return nil, err
	}
	err = b.Await(ctx, time.Minute, "listening", func() bool {
		connection, err := net.Dial("tcp", b.address) //nolint:noctx // the address contains no name to resolve
		return err == nil && connection.Close() == nil
	})
	return b, err
}

// At returns a copy of r with the address of the bare server.
func (b *Bare) At(r load.Request) load.Request {
	u := *r.URL
	u.Host = b.address
	r.URL = &u
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

// RunBare is the main function of the bare server. It serves requests until the process is killed.
func RunBare(args []string) error {
	set := flag.NewFlagSet(bareMode, flag.ContinueOnError)
	address := set.String("listen", "", "address to listen on")
	book := set.String("book", "", "path of the book with the responses")
	appendTo := set.String("append", "", "the file to append posts to")
	if err := set.Parse(args); err != nil {
		return err
	}
	s := &bareServer{contents: map[string]leaf{}, posts: make(chan *barePost, 1024)}
	if err := s.open(*book); err != nil {
		return err
	}
	file, err := os.OpenFile(*appendTo, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the file of posts: %w", err)
	}
	go s.write(file)
	return (&http.Server{Addr: *address, Handler: s, ReadHeaderTimeout: time.Minute}).ListenAndServe()
}

// open maps the bodies of the book into memory, so that responses come directly from the page cache.
func (s *bareServer) open(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the book: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open the book: %w", err)
	}
	s.book, err = unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("map the book: %w", err)
	}
	contents, err := os.Open(path + ".contents")
	if err != nil {
		return fmt.Errorf("open the table of contents: %w", err)
	}
	defer contents.Close()
	for d := json.NewDecoder(contents); ; {
		var l leaf
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the table of contents: %w", err)
		}
		s.contents[l.Key] = l
	}
}

// ServeHTTP sends the stored response. For a GET, it does no other work.
func (s *bareServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		s.post(w, r)
		return
	}
	l, ok := s.contents[leafKey(r.Method, r.RequestURI, r.Header)]
	if !ok {
		http.NotFound(w, r)
		return
	}
	status := http.StatusOK
	if held := r.Header.Get("If-None-Match"); held != "" && held == l.Header.Get("Etag") {
		status = http.StatusNotModified
	}
	s.send(w, status, l)
}

func (s *bareServer) send(w http.ResponseWriter, status int, l leaf) {
	h := w.Header()
	for name, values := range l.Header {
		h[name] = values
	}
	if status == http.StatusNotModified {
		delete(h, "Content-Length")
		delete(h, "Content-Type")
		w.WriteHeader(status)
		return
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
func Main(args []string, stdin io.Reader, stdout io.Writer) (bool, error) {
	if len(args) == 0 {
		return false, nil
	}
	switch args[0] {
	case bareMode:
		return true, RunBare(args[1:])
	case anchor.EngineMode:
		return true, anchor.RunEngine(args[1:], stdin, stdout)
	}
	return false, nil
}
