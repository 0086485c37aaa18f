package library

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/vitrine-dev/vitrine/server/item"
)

// RandomPlace returns the sort value of an item in the random order of a seed. Sort values are integers of at least 0, and lower values
// come first. They depend only on seed and id, so the order is the same in every library and version. A sort value is the XXH64 hash (seed
// 0) of the bytes of seed, followed by id in eight bytes, big-endian, with the highest bit cleared.
func RandomPlace(seed string, id item.ID) int64 {
	var room [64]byte // on the stack; long enough for most seeds
	text := binary.BigEndian.AppendUint64(append(room[:0], seed...), uint64(id))
	return int64(xxhash.Sum64(text) &^ (1 << 63))
}
