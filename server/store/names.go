package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"iter"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// nameSum stands for the name of a dynamic field of a property. It is the beginning of a keyed hash: a submission's member can
// be named after a person, and the store remembers names longer than items. The probability that two
// of item.MaxFieldNames names have the same sum is below 10^-11; they would count as one name.
type nameSum uint64

// namer makes nameSums with the author key of a store. It is not safe for concurrent use.
type namer struct{ mac hash.Hash }

func newNamer(authorKey []byte) namer { return namer{hmac.New(sha256.New, authorKey)} }

func (n namer) sum(name string) nameSum {
	var sum [sha256.Size]byte
	n.mac.Reset()
	_, _ = n.mac.Write([]byte("field\x00" + name)) // a hash takes everything
	return nameSum(binary.BigEndian.Uint64(n.mac.Sum(sum[:0])))
}

// newNames returns those of an item's field names that its property has never had. It fails with *item.InvalidError when the
// property already has item.MaxFieldNames names, or more in a store from before that limit. Names that the property has are always
// accepted.
func (c *change) newNames(p library.PropertyID, names iter.Seq[string]) ([]nameSum, error) {
	var known, staged map[nameSum]bool
	if before := c.before.properties[p]; before != nil {
		known = before.names
	}
	if st := c.properties[p]; st != nil {
		staged = st.names
	}
	var fresh []nameSum
	for name := range names {
		sum := c.namer.sum(name)
		if known[sum] || staged[sum] {
			continue
		}
		if len(known)+len(staged)+len(fresh) >= item.MaxFieldNames {
			return nil, &item.InvalidError{Member: memberOf(name), Reason: fmt.Sprintf(
				"the items of this property have had %d different submission members and tag namespaces, which is the limit: use one of those", item.MaxFieldNames)}
		}
		fresh = append(fresh, sum)
	}
	return fresh, nil
}

// memberOf returns the member of an item that a field comes from.
func memberOf(field string) string {
	if namespace, ok := strings.CutPrefix(field, "tags."); ok {
		return "tags." + strings.TrimSuffix(namespace, ".key")
	}
	return field
}

// takeNames notes the result of newNames, once it is certain that the mutation is accepted.
func (c *change) takeNames(p library.PropertyID, names []nameSum) {
	for _, n := range names {
		c.in(p).names[n] = true
	}
}
