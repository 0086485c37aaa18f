package library

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Actor names who changes items.
type Actor struct {
	// Token is the AccessToken ("namespace/name") of the request.
	Token string `json:"token"`
	// User is the person, if the caller is known to be one.
	User string `json:"user,omitempty"`
}

// HistoryAction says how an item was changed.
type HistoryAction string

// The actions in the history of an item.
const (
	// Created means that a caller added or imported the item. The entry lists no members.
	Created HistoryAction = "create"
	// Replaced means that an import replaced the item.
	Replaced HistoryAction = "replace"
	// Changed means that a patch changed members.
	Changed HistoryAction = "change"
	// Tagged and Untagged mean that a tag was added or removed.
	Tagged   HistoryAction = "tag"
	Untagged HistoryAction = "untag"
)

// HistoryEntry is one change of an item.
type HistoryEntry struct {
	Time   time.Time     `json:"time"`
	By     Actor         `json:"by"`
	Action HistoryAction `json:"action"`
	// Changes lists at most MaxHistoryChanges changed public members, and all changed members of the submission. Omitted is the number of
	// further ones.
	Changes []item.Change `json:"changes,omitempty"`
	Omitted int           `json:"omitted,omitempty"`
	// Reason is what the caller stated as the reason, or "".
	Reason string `json:"reason,omitempty"`
}

// These constants limit the history of an item. A library drops the oldest entries that exceed a limit, but always keeps the newest entry.
const (
	// HistoryEntries is the number of entries that a library keeps for each item, unless Property.History says otherwise.
	HistoryEntries = 50
	// MaxHistoryBytes is the maximum size of the stored history of an item, in bytes.
	MaxHistoryBytes = 32 << 10
	// MaxHistoryChanges is the maximum number of public members in an entry.
	MaxHistoryChanges = 100
)

// KeptHistory returns the number of entries that a library keeps for each item.
func (p *Property) KeptHistory() int {
	if p.History == nil {
		return HistoryEntries
	}
	return *p.History
}
