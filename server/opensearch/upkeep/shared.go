package upkeep

import (
	"cmp"
	"log/slog"
	"time"

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

// Times contains the intervals and time limits of background tasks. A zero value means the default.
type Times struct {
	// Settle is the time between Open and the start of the rebuilder. It is long enough for a rolling update, because replicas of the
	// previous version cannot write to a rebuilt index.
	Settle time.Duration
	// Check is the time between two searches for work. While work is left, the rebuilder uses Retry instead, which is shorter.
	Check, Retry time.Duration
	// Renew is the time between two renewals of the claim. A claim that is not renewed for the duration Expire is void. Expire is
	// shorter than the default timeout of requests. If a replica crashes while it blocks writes, the writes therefore wait until another
	// replica takes over, and then succeed.
	Renew, Expire time.Duration
	// Keep is the time for which a replaced index is kept for searches that began before the replacement. It is longer than snapshotTime and
	// the default timeout of requests.
	Keep time.Duration
	// Trim is the time between two searches for tombstones to remove.
	Trim time.Duration
}

// WithDefaults replaces zero values with the defaults.
func (t Times) WithDefaults() Times {
	t.Settle = cmp.Or(t.Settle, 2*time.Minute)
	t.Check = cmp.Or(t.Check, time.Minute)
	t.Retry = cmp.Or(t.Retry, 2*time.Second)
	t.Renew = cmp.Or(t.Renew, 3*time.Second)
	t.Expire = cmp.Or(t.Expire, 10*time.Second)
	t.Keep = cmp.Or(t.Keep, time.Minute)
	t.Trim = cmp.Or(t.Trim, 10*time.Minute)
	return t
}
