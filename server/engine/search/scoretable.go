package search

import (
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// scoreTable holds the scores of a term for all norms up to the longest, and for all frequencies below tableFreqs. Terms with fewer than
// tableFrom documents have no table, because building the table would cost more than it saves.
type scoreTable struct {
	longest byte
	scores  [tableFreqs << 8]float32
}

const (
	tableFreqs = segment.OutlineFreqs
	tableFrom  = 4096
)

// score returns s.Score(freq, norm), from the table if the table covers the frequency.
func (t *scoreTable) score(s rank.Scorer, freq uint32, norm byte) float64 {
	if freq < tableFreqs {
		return float64(t.scores[freq<<8|uint32(norm)])
	}
	return float64(s.Score(float32(freq), norm))
}

// batch is a buffer for reading postings.
type batch struct{ docs, freqs [256]uint32 }
