package opensearch

import (
	"log/slog"

	"github.com/vitrine-dev/vitrine/server/transfer"
)

// shared is what the background tasks of a replica share.
type shared struct {
	indices *indices
	facts   *facts
	// frozen returns the current freeze, or an empty string if there is none. A frozen library accepts no changes of its indices.
	frozen func() transfer.Freeze
	logger *slog.Logger
}
