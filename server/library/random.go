package library

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/vitrine-dev/vitrine/server/item"
)

// RandomPlace returns the sort value of an item in the random order of a seed: an integer of at least 0, lowest first. It
// depends only on seed and id, so that the order is the same in every library and version. It is the XXH64 (seed 0) of the
// bytes of seed followed by id in eight bytes, big-endian, with the highest bit cleared.
func RandomPlace(seed string, id item.ID) int64 {
	var room [64]byte // on the stack, for seeds of a usual length
	text := binary.BigEndian.AppendUint64(append(room[:0], seed...), uint64(id))
	return int64(xxhash.Sum64(text) &^ (1 << 63))
}
