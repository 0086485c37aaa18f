package upkeep

import (
	"log/slog"

	"github.com/vitrine-dev/vitrine/server/opensearch/facts"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// object is a JSON object of a request.
type object = map[string]any

// shared is what the background tasks of a replica share.
type shared struct {
	indices *indices.Indices
	facts   *facts.Facts
	// frozen returns the current freeze, or an empty string if there is none. A frozen library accepts no changes of its indices.
	frozen func() transfer.Freeze
	logger *slog.Logger
}
