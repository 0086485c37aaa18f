package mutations

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// entryOf returns the entry in the history of an item for a mutation that changes it from before to after. before is nil for a new item. It
// returns false if the mutation changes nothing and has no reason.
func entryOf(m *library.Mutation, now time.Time, before, after *item.Item) (library.HistoryEntry, bool) {
	e := library.HistoryEntry{Time: now.UTC().Truncate(time.Millisecond), By: m.By, Reason: m.Reason}
	switch {
	case before == nil:
		e.Action = library.Created
		return e, true
	case m.Put != nil:
		e.Action = library.Replaced
	case m.Patch != nil:
		e.Action = library.Changed
	case m.Tag != nil:
		e.Action = library.Tagged
	case m.Untag != nil:
		e.Action = library.Untagged
	}
	public := 0
	for _, c := range item.Diff(before, after) {
		// Private members do not count, so that the entry without them does not depend on them.
		if !query.IsSubmissionField(c.Member) {
			public++
		}
		if public > library.MaxHistoryChanges && !query.IsSubmissionField(c.Member) {
			e.Omitted++
		} else {
			e.Changes = append(e.Changes, c)
		}
	}
	return e, len(e.Changes) > 0 || e.Reason != ""
}

// AddHistory returns the stored history of an item with further entries. The stored form has one line of JSON for each entry, the newest
// first. keep is the maximum number of entries.
func AddHistory(stored []byte, entries []library.HistoryEntry, keep int) ([]byte, error) {
	var lines [][]byte
	for i := len(entries) - 1; i >= 0; i-- {
		line, err := json.Marshal(entries[i])
		if err != nil {
			return nil, fmt.Errorf("encode an entry of the history: %w", err)
		}
		lines = append(lines, append(line, '\n'))
	}
	lines = append(lines, bytes.SplitAfter(stored, []byte("\n"))...)
	var out []byte
	for i, line := range lines {
		if i == keep || i > 0 && len(out)+len(line) > library.MaxHistoryBytes {
			break
		}
		out = append(out, line...)
	}
	return out, nil
}

// ReadHistory returns at most limit entries of a stored history, the newest first.
func ReadHistory(stored []byte, limit int) ([]library.HistoryEntry, error) {
	entries := []library.HistoryEntry{}
	for line := range bytes.Lines(stored) {
		if len(entries) == limit {
			break
		}
		var e library.HistoryEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read an entry of the history: %w", err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
