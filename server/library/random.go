package library

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/vitrine-dev/vitrine/server/item"
)

// RandomPlace returns the sort value of an item in the random order with the given seed. Sort values are integers of at least 0, and items
// with lower values come first. They depend only on seed and id, so the order is the same in every library and version. A sort value is an
// XXH64 hash (with the hash seed 0) whose highest bit is cleared. The hashed bytes are those of seed, followed by id in eight bytes,
// big-endian.
func RandomPlace(seed string, id item.ID) int64 {
	var room [64]byte // on the stack; long enough for most seeds
	text := binary.BigEndian.AppendUint64(append(room[:0], seed...), uint64(id))
	return int64(xxhash.Sum64(text) &^ (1 << 63))
}
