package mutations

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"iter"
	"maps"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
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

// OwnNamespaces returns the namespaces of all tags in made that an item ever had itself, which are those whose fields are in names. The
// other tags come from manifests.
func OwnNamespaces(n *Namer, made map[item.Tag]bool, names map[NameSum]bool) map[string]bool {
	own := map[string]bool{}
	for t := range made {
		if _, judged := own[t.Namespace]; !judged {
			own[t.Namespace] = names[n.Sum(query.TagFieldName(t.Namespace))]
		}
	}
	maps.DeleteFunc(own, func(_ string, used bool) bool { return !used })
	return own
}

// newNames are field names, and the namespaces of tags among them, that are new to a property.
type newNames struct {
	sums       []NameSum
	namespaces []string
}

// newNames returns the field names of an item that are new to its property. It fails with *item.InvalidError if the property would then
// have more than item.MaxFieldNames names or item.MaxPropertyNamespaces namespaces. It always accepts known names, even if the property
// already exceeds a limit, as it can in an older store.
func (s *Stage) newNames(names iter.Seq[string]) (newNames, error) {
	var fresh newNames
	for name := range names {
		sum := s.Namer.Sum(name)
		if s.Base.NameKnown(sum) || s.Names[sum] {
			continue
		}
		if s.Base.Names()+len(s.Names)+len(fresh.sums) >= item.MaxFieldNames {
			return newNames{}, &item.InvalidError{Member: memberOf(name), Reason: fmt.Sprintf(
				"the items of this property have used %d different submission members and tag namespaces, which is the limit: use an existing name", item.MaxFieldNames)}
		}
		if namespace, ok := query.TagNamespace(name); ok {
			if s.Base.Namespaces()+len(s.Namespaces)+len(fresh.namespaces) >= item.MaxPropertyNamespaces {
				return newNames{}, &item.InvalidError{Member: memberOf(name), Reason: fmt.Sprintf(
					"the items of this property have used %d different tag namespaces, which is the limit: use an existing namespace", item.MaxPropertyNamespaces)}
			}
			fresh.namespaces = append(fresh.namespaces, namespace)
		}
		fresh.sums = append(fresh.sums, sum)
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
func (s *Stage) takeNames(names newNames) {
	for _, n := range names.sums {
		s.Names[n] = true
	}
	for _, namespace := range names.namespaces {
		s.Namespaces[strings.Clone(namespace)] = true // the namespace can be part of a long text
	}
}
