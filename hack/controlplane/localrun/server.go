package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
	"github.com/vitrine-dev/vitrine/hack/loopback"
)

// startServer starts vitrine and waits until it serves the content of the cluster.
func (s *stack) startServer(ctx context.Context) error {
	s.say("starting vitrine…")
	free, err := loopback.Free(3)
	if err != nil {
		return err
	}
	args := []string{
		"serve",
		"--kubeconfig=" + s.cluster.kubeconfig,
		"--data-dir=" + s.data(),
		"--https-bind-address=" + strings.TrimPrefix(s.url, "https://"),
		"--external-url=" + s.url,
		"--console",
		"--health-probe-bind-address=" + free[0],
		"--metrics-bind-address=" + free[1],
	}
	if s.webhook {
		args = append(args, "--webhook-bind-address="+free[2], "--webhook-url=https://"+free[2])
	}
	vitrine, err := process.Start(process.Spec{
		Name: "vitrine", Path: s.binary(), Args: args, Log: s.log(),
		Grace: 25 * time.Second, // longer than serve needs: it drains requests for up to 20 s and then closes the store
	})
	if err != nil {
		return err
	}
	s.Add(vitrine)
	err = s.poll(ctx, 2*time.Minute, func(ctx context.Context) error { return loaded(ctx, "http://"+free[0]+"/readyz") })
	if err != nil {
		return fmt.Errorf("vitrine is not ready: %w\nThe end of %s:\n%s", err, s.log(), process.Tail(s.log(), 15))
	}
	return nil
}

// loaded returns nil when vitrine is ready and has loaded the objects of the cluster. The first condition is not enough: after a restart,
// vitrine is ready immediately, because it serves the stored state.
func loaded(ctx context.Context, readyz string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, readyz, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || strings.Contains(string(text), "serving the last known state") {
		return fmt.Errorf("%s returned %d: %s", readyz, resp.StatusCode, text)
	}
	return nil
}

// chooseURL chooses the address of the server. It is the first step, so that the user does not wait for an error about a port.
func (s *stack) chooseURL(context.Context) error {
	address, err := chooseAddress(filepath.Join(s.state, "address"), s.port)
	s.url = "https://" + address
	return err
}

// chooseAddress returns a free loopback address. If port is 0, it tries the address in file, then port 8443, and then any port. It writes the
// address to file, so that pasted commands keep working in the next run.
func chooseAddress(file string, port uint) (string, error) {
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the address of the last run: %w", err)
	}
	addresses := []string{string(before), "127.0.0.1:8443", "127.0.0.1:0"}
	if port > math.MaxUint16 {
		return "", fmt.Errorf("port %d: must be from 1 to %d", port, math.MaxUint16)
	}
	if port != 0 {
		addresses = []string{fmt.Sprintf("127.0.0.1:%d", port)}
	}
	for _, address := range addresses {
		if address == "" {
			continue
		}
		if l, err := net.Listen("tcp", address); err == nil { //nolint:noctx // the address contains no name to resolve
			l.Close()
			return l.Addr().String(), writePrivate(file, l.Addr().String())
		}
	}
	if port != 0 {
		return "", fmt.Errorf("cannot listen on port %d of this machine: stop the program that uses it, or choose another port, as in make run PORT=8444", port)
	}
	return "", errors.New("no port of the loopback interface is free")
}
