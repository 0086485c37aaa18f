package controllers

import (
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

func TestTally(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var moves tally
	if moves.note(&library.Page{}); moves.due(now) {
		t.Error("what never moves is due")
	}
	moves.note(&library.Page{Expires: now.Add(time.Hour)})
	moves.note(&library.Page{Expires: now})
	moves.note(&library.Page{Expires: now.Add(time.Minute)})
	if moves.due(now.Add(-time.Millisecond)) || !moves.due(now) {
		t.Errorf("due from %s on, want %s", moves.first, now)
	}
}
