package plan_test

import (
	"errors"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// TestBoundary checks, to the millisecond, at which time the result of a query first changes. The corpus is one item that was created an
// hour before now.
func TestBoundary(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	created := now.Add(-time.Hour)
	ahead := func(r plan.IntRange) (plan.Ends, error) {
		if r.Field.Name != "created_on" {
			t.Errorf("asked for %s, whose values the time does not pass", r.Field.Name)
		}
		v := created.UnixMilli()
		return plan.Ends{Leaving: v, Leave: v >= r.Lo, Entering: v, Enter: v > r.Hi}, nil
	}
	for text, want := range map[string]time.Duration{
		"beach":                          0,
		"created_on:[2026 TO *]":         0,
		"created_on:[now-2h TO *]":       time.Hour + time.Millisecond,
		"created_on:{now-2h TO *]":       time.Hour,
		"created_on:[* TO now-3h]":       2 * time.Hour,
		"created_on:[* TO now-1h]":       0,
		"created_on:[now TO *]":          0,
		"created_on:[* TO now-1001y]":    0,
		"NOT created_on:[now-2h TO now]": time.Hour + time.Millisecond,
		"(created_on:[* TO now-3h])^2 OR created_on:[now-90m TO *] OR campaign:[1 TO 5]": 30*time.Minute + time.Millisecond,
	} {
		t.Run(text, func(t *testing.T) {
			parsed, err := query.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := plan.Boundary(now, func(at time.Time) ([]plan.Node, error) {
				p, err := plan.Build(parsed.Root, plan.Options{Now: at})
				if err != nil {
					return nil, err
				}
				return []plan.Node{p.Root}, nil
			}, ahead)
			if err != nil {
				t.Fatal(err)
			}
			expected := time.Time{}
			if want != 0 {
				expected = now.Add(want)
			}
			if !got.Equal(expected) {
				t.Errorf("the boundary is %v, want %v", got.UTC(), expected)
			}
		})
	}
}

// TestBoundaryOfUnbuildableQuery checks that Boundary returns an error if a query cannot be planned for now, and treats it as a change if
// the query cannot be planned for a later time.
func TestBoundaryOfUnbuildableQuery(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	cannot := errors.New("too many fields")
	loses := func(from time.Duration) func(time.Time) ([]plan.Node, error) {
		return func(at time.Time) ([]plan.Node, error) {
			if at.Sub(now) >= from {
				return nil, cannot
			}
			return []plan.Node{plan.All{}}, nil
		}
	}
	if _, err := plan.Boundary(now, loses(0), nil); !errors.Is(err, cannot) {
		t.Errorf("without a meaning now: %v", err)
	}
	if got, err := plan.Boundary(now, loses(time.Minute), nil); err != nil || !got.Equal(now.Add(time.Minute)) {
		t.Errorf("without a meaning in a minute: %v, %v", got, err)
	}
}
