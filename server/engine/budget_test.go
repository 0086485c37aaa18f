package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestBudget checks that a read returns the cause of its context if the deadline has passed. The same read must then succeed without a
// deadline.
func TestBudget(t *testing.T) {
	l := openShop(t, Options{})
	mustWrite(t, l, trialShop, beach(1))
	tooLong := errors.New("too long")
	short, cancel := context.WithTimeoutCause(t.Context(), time.Nanosecond, tooLong)
	defer cancel()
	for _, q := range []string{"beach", "beech~", "text:b*", `"beach sunset"~3`} {
		parsed, err := query.Parse(q)
		if err != nil {
			t.Fatal(err)
		}
		r := library.Read{Property: trialShop, Query: parsed.Root, Limit: 5}
		if _, err := l.Read(short, r); !errors.Is(err, tooLong) {
			t.Errorf("%s: error %v, want the cause of the context", q, err)
		}
		if _, err := l.Read(t.Context(), r); err != nil {
			t.Errorf("%s without a deadline: %v", q, err)
		}
	}
}
