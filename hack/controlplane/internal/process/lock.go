//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrLocked means that another process holds a lock.
var ErrLocked = errors.New("held by another process")

// TryLock takes the lock file, made when absent, until unlock is called or this process ends. ErrLocked when another
// process has it.
func TryLock(file string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of a lock: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", file, ErrLocked)
		}
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return func() { f.Close() }, nil
}

// Lock is TryLock that waits; waiting is called once when there is a wait.
func Lock(ctx context.Context, file string, waiting func()) (unlock func(), err error) {
	for told := false; ; {
		unlock, err := TryLock(file)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		if !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
