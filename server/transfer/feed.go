package transfer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// MarkFeed is the key of the mark with the Successions of a library that a Copy created, as JSON. The mark is not a part of Facts.
const MarkFeed = "copied-feed"

// End describes the positions of a property after which nothing has changed in a frozen source: those with the text of Journal, a hyphen,
// and a number from First to Last. There are none if Journal is empty.
type End struct {
	Journal string `json:"journal"`
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"`
}

// contains reports whether nothing has changed after a position of the source. A position within the changes of one batch has a further
// number, so End does not contain it.
func (e End) contains(p library.Position) bool {
	text, ok := strings.CutPrefix(string(p), e.Journal+"-")
	n, err := strconv.ParseUint(strings.TrimSuffix(text, "-0"), 10, 64)
	return ok && e.Journal != "" && err == nil && e.First <= n && n <= e.Last
}

// Succession says that the position Own of a copy continues the positions of its source in End, so that callers that follow a listing do not
// have to read it again.
type Succession struct {
	End End              `json:"end"`
	Own library.Position `json:"own"`
}

// Successions are the successions of all properties of a copy.
type Successions map[library.PropertyID]Succession

// Mark returns the value of MarkFeed.
func (s Successions) Mark() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode the ends of the feeds: %w", err)
	}
	return string(text), nil
}

// Continued returns the position of a copy that continues a position of its source, or "" if there is none. mark is the value of MarkFeed.
func Continued(mark string, p library.PropertyID, after library.Position) library.Position {
	var all Successions
	if json.Unmarshal([]byte(mark), &all) != nil || !all[p].End.contains(after) {
		return "" // also without a mark
	}
	return all[p].Own
}
