package message

import (
	"errors"
	"fmt"
	"testing"
)

func TestAnErrorIsOneLine(t *testing.T) {
	damaged := errors.New("file 000005: checksum mismatch")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"one":      {errors.New("a"), "a"},
		"joined":   {errors.Join(errors.New("a"), errors.New("b")), "a; b"},
		"repeated": {fmt.Errorf("open the store: %w", errors.Join(damaged, fmt.Errorf("close: %w", damaged), damaged)), "open the store: file 000005: checksum mismatch; close: file 000005: checksum mismatch"},
	} {
		if got := OneLine(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
