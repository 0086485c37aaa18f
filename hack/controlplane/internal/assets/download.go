package assets

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/remote"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/store"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/versions"
)

// source is a source of official builds for envtest.
type source struct {
	index     string        // URL of the list of archives with their checksums; "" means the list that setup-envtest uses
	firstByte time.Duration // timeout for the first byte of a response; 0 means 10 s
	total     time.Duration // timeout for the whole download; 0 means 5 minutes
}

// download unpacks the programs of the newest official build of a minor version of Kubernetes, such as 1.37. The parameter to is the
// directory for the programs, which must not exist. The checksum of the archive must match the index.
func (s source) download(ctx context.Context, series, to string) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	err := s.unpack(ctx, series, to)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// unpack is like download, but without timeouts.
func (s source) unpack(ctx context.Context, series, to string) error {
	client := &remote.HTTPClient{IndexURL: s.index}
	item, platform, err := newest(ctx, client, series)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(to), ".downloading-")
	if err != nil {
		return fmt.Errorf("create a directory in the cache (set %s to choose another): %w", EnvCache, err)
	}
	defer os.RemoveAll(temp)
	archive, err := os.Create(filepath.Join(temp, "archive"))
	if err != nil {
		return fmt.Errorf("save the archive: %w", err)
	}
	defer archive.Close()
	if err := client.GetVersion(ctx, item.Version, platform, archive); err != nil {
		return err
	}
	if _, err := archive.Seek(0, 0); err != nil {
		return fmt.Errorf("read the archive again: %w", err)
	}
	unpacked := store.NewAt(temp)
	if err := unpacked.Add(logr.NewContext(ctx, logr.Discard()), item, archive); err != nil {
		return err
	}
	dir, err := unpacked.Path(item)
	if err != nil {
		return err
	}
	if lacking := missing(dir, []string{Etcd, Kubectl, APIServer}); len(lacking) > 0 {
		return fmt.Errorf("the archive of Kubernetes %s lacks %s", item.Version, strings.Join(lacking, ", "))
	}
	return errors.Join(os.Chmod(dir, 0o755), os.Rename(dir, to)) // a directory can be renamed only if it is writable
}

// newest returns the newest build of a minor version for this machine, with its checksum.
func newest(ctx context.Context, client remote.Client, series string) (store.Item, versions.PlatformItem, error) {
	wanted, err := versions.FromExpr(series)
	if err != nil {
		return store.Item{}, versions.PlatformItem{}, err
	}
	sets, err := client.ListVersions(ctx) // newest first
	if err != nil {
		return store.Item{}, versions.PlatformItem{}, err
	}
	here := versions.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	for _, set := range sets {
		for _, platform := range set.Platforms {
			if wanted.Matches(set.Version) && platform.Platform == here {
				return store.Item{Version: set.Version, Platform: here}, platform, nil
			}
		}
	}
	return store.Item{}, versions.PlatformItem{}, fmt.Errorf("there is no official build of Kubernetes %s for %s/%s", series, here.OS, here.Arch)
}

// limit returns a context that ends if a response does not begin in time or the whole download takes too long. The cause of the context
// shows which limit was exceeded.
func (s source) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.firstByte == 0 {
		s.firstByte = 10 * time.Second
	}
	if s.total == 0 {
		s.total = 5 * time.Minute
	}
	ctx, end := context.WithTimeoutCause(ctx, s.total, fmt.Errorf("the download did not finish within %s", s.total))
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.firstByte, func() { cancel(fmt.Errorf("no response within %s", s.firstByte)) })
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { timer.Reset(s.firstByte) },
		GotFirstResponseByte: func() { timer.Stop() },
	}), func() { timer.Stop(); cancel(nil); end() }
}
