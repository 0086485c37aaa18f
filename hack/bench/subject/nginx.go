package subject

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/loopback"
)

// Nginx is a running nginx that serves the bodies of a book as static files.
type Nginx struct {
	*child.Child
	Version string
	address string
	pages   map[string]int
}

// ErrNoNginx is returned if nginx is not installed.
var ErrNoNginx = errors.New("nginx is not in PATH or /usr/sbin")

// nginxConfig is the format of the configuration. Its arguments are a directory, an address and a directive for the account of the workers.
// With it, nginx runs one worker for each processor, and keeps files open, as the bare server keeps its book mapped. Like Vitrine, nginx
// writes a line for every request to a buffered log.
//
//go:embed nginx.conf
var nginxConfig string

// StartNginx writes the uncompressed bodies of a book to files, and starts an nginx that serves these files. It returns ErrNoNginx if nginx
// is not installed.
func StartNginx(ctx context.Context, dir string, book *Book) (*Nginx, error) {
	path, err := findNginx()
	if err != nil {
		return nil, err
	}
	said, err := exec.CommandContext(ctx, path, "-v").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("ask nginx for its version: %w", err)
	}
	_, version, _ := strings.Cut(strings.TrimSpace(string(said)), "/")
	free, err := loopback.Free(1)
	if err != nil {
		return nil, err
	}
	n := &Nginx{Version: version, address: free[0], pages: map[string]int{}}
	home := filepath.Join(dir, "nginx")
	if err := n.writePages(filepath.Join(home, "pages"), book); err != nil {
		return nil, fmt.Errorf("write the pages for nginx: %w", err)
	}
	account := "" // the directive for the account of the workers; "" means the account of this process
	if os.Getuid() == 0 {
		account = "user root;\n" // by default, root's workers run as an account that cannot read the directory
	}
	config := filepath.Join(home, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, home, n.address, account), 0o600); err != nil {
		return nil, fmt.Errorf("configure nginx: %w", err)
	}
	n.Child, err = child.Start(child.Spec{Name: "nginx", Path: path, Args: []string{"-p", home, "-e", "stderr", "-c", config}, Output: filepath.Join(dir, "nginx.log")})
	if err != nil {
		return nil, err
	}
	err = n.Await(ctx, time.Minute, "listening", func() bool {
		connection, err := net.Dial("tcp", n.address) //nolint:noctx // the address contains no name to resolve
		return err == nil && connection.Close() == nil
	})
	return n, err
}

// findNginx returns the path of nginx. Debian installs it in a directory that is only in the PATH of root.
func findNginx() (string, error) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoNginx
}

// writePages writes each body to a file with its number as its name.
func (n *Nginx) writePages(dir string, book *Book) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	bodies, err := os.Open(book.path)
	if err != nil {
		return err
	}
	defer bodies.Close()
	contents, err := os.Open(book.path + ".contents")
	if err != nil {
		return err
	}
	defer contents.Close()
	for d := json.NewDecoder(bufio.NewReader(contents)); ; {
		var l leaf
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if l.Header.Get("Content-Encoding") != "" {
			continue
		}
		body, err := io.ReadAll(io.NewSectionReader(bodies, l.Offset, l.Length))
		if err != nil {
			return err
		}
		n.pages[l.Key] = len(n.pages)
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(n.pages[l.Key])), body, 0o644); err != nil {
			return err
		}
	}
}

// At returns the request to nginx for the page that r requests from Vitrine. The page must be in the book.
func (n *Nginx) At(r load.Request) load.Request {
	page := n.pages[leafKey(http.MethodGet, r.URL.RequestURI(), nil)]
	return load.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: n.address, Path: "/" + strconv.Itoa(page)}}
}
