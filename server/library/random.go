package library

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/vitrine-dev/vitrine/server/item"
)

// RandomPlace is where an item stands in the random order of a seed: a whole number of at least 0, lowest first. It
// depends on nothing but the two, so that every library gives one order, for ever: it is the XXH64 (seed 0) of the bytes of
// the seed followed by the id in eight bytes, big-endian, without its highest bit.
func RandomPlace(seed string, id item.ID) int64 {
	var room [64]byte // on the stack, for every seed of a usual length
	text := binary.BigEndian.AppendUint64(append(room[:0], seed...), uint64(id))
	return int64(xxhash.Sum64(text) &^ (1 << 63))
}
