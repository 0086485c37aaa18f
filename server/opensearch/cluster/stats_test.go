package cluster

import (
	"errors"
	"testing"

	"github.com/vitrine-dev/vitrine/server/library"
)

// TestCheckpoint checks that checkpoint fails if the statistics contain no working copy.
func TestCheckpoint(t *testing.T) {
	if n, err := (Stats{}).Checkpoint("gone"); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("%d, %v, want ErrUnavailable", n, err)
	}
}
