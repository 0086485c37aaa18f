package mutations

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"iter"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
)

// NameSum identifies the name of a dynamic field of a property. It is a prefix of a keyed hash and not the name itself, because a store
// keeps the names of deleted items, and a name in a submission can be personal data. Two names with the same sum count as one. The
// probability of two equal sums among item.MaxFieldNames names is below 10^-11.
type NameSum uint64

// Namer computes NameSums with the author key of a store. It is not safe for concurrent use.
type Namer struct{ mac hash.Hash }

// NewNamer returns a Namer for an author key.
func NewNamer(authorKey []byte) *Namer { return &Namer{hmac.New(sha256.New, authorKey)} }

// Sum returns the NameSum of a field's canonical name.
func (n *Namer) Sum(name string) NameSum {
	var sum [sha256.Size]byte
	n.mac.Reset()
	_, _ = n.mac.Write([]byte("field\x00" + name)) // writing to a hash never fails
	return NameSum(binary.BigEndian.Uint64(n.mac.Sum(sum[:0])))
}

// newNames returns the field names of an item that are new to its property. It fails with *item.InvalidError if the property would then
// have more than item.MaxFieldNames names. It always accepts known names, even if the property already exceeds the limit, as it can in an
// older store.
func (s *Stage) newNames(names iter.Seq[string]) ([]NameSum, error) {
	var fresh []NameSum
	for name := range names {
		sum := s.Namer.Sum(name)
		if s.Base.NameKnown(sum) || s.Names[sum] {
			continue
		}
		if s.Base.Names()+len(s.Names)+len(fresh) >= item.MaxFieldNames {
			return nil, &item.InvalidError{Member: memberOf(name), Reason: fmt.Sprintf(
				"the items of this property have used %d different submission members and tag namespaces, which is the limit: use an existing name", item.MaxFieldNames)}
		}
		fresh = append(fresh, sum)
	}
	return fresh, nil
}

// memberOf returns the name of the member of an item that provides the values of a field.
func memberOf(field string) string {
	if namespace, ok := strings.CutPrefix(field, "tags."); ok {
		return "tags." + strings.TrimSuffix(namespace, ".key")
	}
	return field
}

// takeNames stages the names that newNames returned. Call it only after all other checks of the mutation.
func (s *Stage) takeNames(names []NameSum) {
	for _, n := range names {
		s.Names[n] = true
	}
}
