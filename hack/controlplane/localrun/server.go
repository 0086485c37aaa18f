package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

// server is the vitrine process.
type server struct {
	process *process.Process
	url     string // where the content is served
	health  string // where /readyz is
}

// startServer starts vitrine and waits until it is ready. With webhook it judges manifests while they are applied.
func startServer(ctx context.Context, binary, state, kubeconfig string, webhook bool) (*server, error) {
	https, err := rememberedAddress(filepath.Join(state, "address"))
	if err != nil {
		return nil, err
	}
	free, err := freeAddresses(3)
	if err != nil {
		return nil, err
	}
	s := &server{url: "https://" + https, health: "http://" + free[0]}
	args := []string{
		"serve",
		"--kubeconfig=" + kubeconfig,
		"--data-dir=" + filepath.Join(state, "data"),
		"--https-bind-address=" + https,
		"--health-probe-bind-address=" + free[0],
		"--metrics-bind-address=" + free[1],
		"--external-url=" + s.url,
	}
	if webhook {
		args = append(args, "--webhook-bind-address="+free[2], "--webhook-url=https://"+free[2])
	}
	s.process, err = process.Start(process.Spec{
		Name: "vitrine", Path: binary, Log: filepath.Join(state, "logs", "vitrine.log"), Args: args,
		Grace: 25 * time.Second, // serve lets requests end for 20 s, and then closes the store
	})
	if err != nil {
		return nil, err
	}
	err = eventually(ctx, 2*time.Minute, func() error {
		if err := s.process.Err(); err != nil {
			return fatal{err}
		}
		status, body, err := fetch(ctx, http.DefaultClient, s.health+"/readyz", "")
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("/readyz answers %d: %s", status, body)
		}
		// A second start is ready at once, with what it remembers. What is printed should be what it sees now.
		if strings.Contains(body, "serving last known state") {
			return fmt.Errorf("it has not loaded the cluster: %s", body)
		}
		return nil
	})
	if err != nil {
		if ended := s.process.Err(); ended == nil {
			err = fmt.Errorf("vitrine does not get ready: %w; the end of %s:\n%s", err, filepath.Join(state, "logs", "vitrine.log"), process.Tail(filepath.Join(state, "logs", "vitrine.log"), 15))
		}
		s.process.Stop()
		return nil, err
	}
	return s, nil
}

// rememberedAddress returns a free address on loopback, so that a line that is pasted from one run works in the next: the one
// that file has, else port 8443, else any. It writes the address to file.
func rememberedAddress(file string) (string, error) {
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the address of the last run: %w", err)
	}
	for _, address := range []string{string(before), "127.0.0.1:8443", "127.0.0.1:0"} {
		if address == "" {
			continue
		}
		if l, err := net.Listen("tcp", address); err == nil { //nolint:noctx // an address, without names to resolve
			l.Close()
			return l.Addr().String(), writePrivate(file, l.Addr().String())
		}
	}
	return "", errors.New("no port on loopback is free")
}

// freeAddresses returns n free addresses on loopback.
func freeAddresses(n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // an address, without names to resolve
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() // not before all are found, or one could be found twice
		out[i] = l.Addr().String()
	}
	return out, nil
}

// caller makes requests to the content server with one token.
type caller struct {
	server string
	token  string
	client *http.Client
}

func newCaller(server, token, ca string) (*caller, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		return nil, errors.New("the Secret's ca.crt holds no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return &caller{server: server, token: token, client: &http.Client{Transport: transport, Timeout: 30 * time.Second}}, nil
}

// answer is what the checks look at of an answer of the content server.
type answer struct {
	Total    int64 `json:"total_results"`
	Embedded struct {
		Items []contentItem `json:"ugc:item"`
		Tags  []struct {
			Namespace string `json:"namespace"`
			Key       string `json:"key"`
		} `json:"tags"`
		Units []unit `json:"activate_unit:item"`
	} `json:"_embedded"`
}

type contentItem struct {
	ID    int64  `json:"id"`
	Units []unit `json:"activate_units"`
}

type unit struct {
	Name string `json:"name"`
}

// get reads path, or an absolute address, and wants status 200.
func (c *caller) get(ctx context.Context, path string) (*answer, error) {
	status, body, err := c.fetch(ctx, path)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("GET %s: status %d: %s", path, status, body)
	}
	var a answer
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		return nil, fmt.Errorf("GET %s: read the answer: %w", path, err)
	}
	return &a, nil
}

// items lists the items that a query finds.
func (c *caller) items(ctx context.Context, query string) (*answer, error) {
	return c.get(ctx, "/v2/content/items?page_size=5&q="+url.QueryEscape(query))
}

// fetch reads path, or an absolute address, whatever its status.
func (c *caller) fetch(ctx context.Context, path string) (status int, body string, err error) {
	if path[0] == '/' {
		path = c.server + path
	}
	return fetch(ctx, c.client, path, c.token)
}

func fetch(ctx context.Context, client *http.Client, address, token string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return 0, "", fmt.Errorf("GET %s: read the answer: %w", address, err)
	}
	return resp.StatusCode, string(text), nil
}
