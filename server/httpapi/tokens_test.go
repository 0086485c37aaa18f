package httpapi

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

func tokenEvent(owner string, values ...string) (library.TokenEvent, error) {
	e := library.TokenEvent{Property: "shop/default", Owner: library.Owner{Kind: library.KindToken, Namespace: "shop", Name: owner}}
	if values != nil {
		e.Token = &library.Token{}
		for _, v := range values {
			e.Token.Values = append(e.Token.Values, library.TokenValue{Digest: sha256.Sum256([]byte(v))})
		}
	}
	return e, nil
}

// TestTokenTable passes events to a table one by one, and checks the table after each.
func TestTokenTable(t *testing.T) {
	synced := func() (library.TokenEvent, error) { return library.TokenEvent{Synced: true}, nil }
	set := func(owner string, values ...string) func() (library.TokenEvent, error) {
		return func() (library.TokenEvent, error) { return tokenEvent(owner, values...) }
	}
	setInWall := func(owner string, values ...string) func() (library.TokenEvent, error) {
		return func() (library.TokenEvent, error) {
			e, err := tokenEvent(owner, values...)
			e.Property = "wall/default"
			return e, err
		}
	}
	type step struct {
		event func() (library.TokenEvent, error)
		valid string // the valid tokens among a, b and c
	}
	for name, steps := range map[string][]step{
		"nothing before all are known":      {{set("x", "a"), ""}, {set("y", "b"), ""}, {synced, "ab"}},
		"changes at once":                   {{synced, ""}, {set("x", "a"), "a"}, {set("x", "a", "b"), "ab"}, {set("x", "b"), "b"}, {set("x"), ""}},
		"one value twice":                   {{synced, ""}, {set("x", "a", "b"), "ab"}, {set("y", "b", "c"), "ac"}, {set("z", "b"), "ac"}, {set("y"), "a"}, {set("z"), "ab"}},
		"a value moves":                     {{synced, ""}, {set("x", "a"), "a"}, {set("y", "a"), ""}, {set("x", "b"), "ab"}},
		"a removal of nothing":              {{synced, ""}, {set("x"), ""}},
		"one token, one value twice":        {{synced, ""}, {set("x", "a", "a"), "a"}},
		"a token moves to another property": {{synced, ""}, {set("x", "a"), "a"}, {setInWall("x", "b"), "b"}, {setInWall("x", "b", "c"), "bc"}, {set("x"), ""}},
		"a token moves with its value":      {{set("x", "a"), ""}, {synced, "a"}, {setInWall("x", "a"), "a"}, {setInWall("x"), ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			table := tokenTable{log: slog.NewTextHandler(&log, nil)}
			err := table.follow(func(yield func(library.TokenEvent, error) bool) {
				for i, s := range steps {
					e, err := s.event()
					if !yield(e, err) {
						return
					}
					var valid []byte
					for _, v := range "abc" {
						if g, ok := table.find(string(v), time.Now()); ok {
							valid = append(valid, byte(v))
							if g.owner == e.Owner && g.property != e.Property {
								t.Errorf("step %d: %c gives access to %s, want %s", i+1, v, g.property, e.Property)
							}
							log.Reset()
							slog.New(g.log).Info("request")
							if want := fmt.Sprintf("property=%s token=%q\n", g.property, g.owner); !strings.HasSuffix(log.String(), want) {
								t.Errorf("step %d: the access log of %c is %s, want %s", i+1, v, &log, want)
							}
						}
					}
					if string(valid) != s.valid {
						t.Errorf("step %d: valid are %q, want %q", i+1, valid, s.valid)
					}
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTokenTableKeepsServing checks that the known tokens stay valid when the feed fails, and that a restarted feed replaces all of them in
// one step.
func TestTokenTableKeepsServing(t *testing.T) {
	table := tokenTable{log: slog.DiscardHandler}
	valid := func() []string {
		var all []string
		for _, v := range []string{"a", "b"} {
			if _, ok := table.find(v, time.Now()); ok {
				all = append(all, v)
			}
		}
		return all
	}
	broke := errors.New("feed broke")
	err := table.follow(func(yield func(library.TokenEvent, error) bool) {
		_ = yield(tokenEvent("x", "a")) && yield(library.TokenEvent{Synced: true}, nil) && yield(library.TokenEvent{}, broke)
	})
	if !errors.Is(err, broke) || !slices.Equal(valid(), []string{"a"}) {
		t.Errorf("after the break: %v, valid are %v", err, valid())
	}
	err = table.follow(func(yield func(library.TokenEvent, error) bool) {
		_ = yield(tokenEvent("y", "b"))
		if !slices.Equal(valid(), []string{"a"}) {
			t.Errorf("before all are known again: valid are %v", valid())
		}
		_ = yield(library.TokenEvent{Synced: true}, nil)
	})
	if err != nil || !slices.Equal(valid(), []string{"b"}) {
		t.Errorf("anew: %v, valid are %v", err, valid())
	}
}
