package translate

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"math/bits"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// randomSource is a script that computes library.RandomPlace in the cluster, so that a seed results in the same order in every library.
//
//go:embed random.painless
var randomSource string

// These are the first two constants of XXH64.
const (
	prime1 uint64 = 0x9E3779B185EBCA87
	prime2 uint64 = 0xC2B2AE3D27D4EB4F
)

// stripe is the number of bytes that XXH64 processes at a time.
const stripe = 32

// randomKey returns the sort key for the places of items in the random order of a seed. A place has 63 bits, which a sort value of a script
// cannot hold. For this reason, the key has two sort values: the upper 32 bits and the lower 31 bits.
func randomKey(seed string) orderKey {
	lanes := [4]uint64{prime1, prime2, 0, 0}
	lanes[0] += prime2
	lanes[3] -= prime1
	rest := []byte(seed)
	for ; len(rest) >= stripe; rest = rest[stripe:] {
		for i := range lanes {
			lanes[i] = bits.RotateLeft64(lanes[i]+binary.LittleEndian.Uint64(rest[8*i:])*prime2, 31) * prime1
		}
	}
	remaining := make([]int, len(rest)) // not bytes, because JSON encodes bytes as a string
	for i, b := range rest {
		remaining[i] = int(b)
	}
	script := func(high bool) object {
		return object{"_script": object{"type": "number", "order": "asc", "script": object{"source": randomSource, "params": object{
			"lanes": []int64{int64(lanes[0]), int64(lanes[1]), int64(lanes[2]), int64(lanes[3])},
			"rest":  remaining, "total": len(seed) + 8, "high": high,
		}}}}
	}
	return orderKey{
		sorts: []any{script(true), script(false)},
		read: func(values []schema.SortValue) (eval.SortValue, error) {
			var high, low float64
			err := json.Unmarshal(values[0].RawMessage, &high)
			if err == nil {
				err = json.Unmarshal(values[1].RawMessage, &low)
			}
			return eval.SortValue{Int: int64(high)<<31 | int64(low)}, err
		},
		write: func(_ eval.SortValue, id item.ID) []any {
			place := library.RandomPlace(seed, id)
			return []any{place >> 31, place & (1<<31 - 1)}
		},
	}
}
