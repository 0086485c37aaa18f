package opensearch

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// fact is a document of the facts index: either the ledger of a property, or a tag that exists or existed.
type fact struct {
	Property library.PropertyID `json:"property"`
	// Namespace and Key identify a tag. A ledger has no Namespace. Its Key contains the namespaces of all tags that items have ever had
	// themselves, separated by slashes, which no namespace contains. It is empty in a ledger that an earlier version wrote last.
	Namespace string `json:"namespace,omitempty"`
	Key       string `json:"key,omitempty"`
	// Sequence is the highest item id that was ever assigned or imported. It increases before an item with that id is stored, so that no id
	// is assigned twice.
	Sequence item.ID `json:"sequence,omitempty"`
	// Names contains the hashes of all field names that items have ever had, eight bytes each.
	Names string `json:"names,omitempty"`
	// Token identifies the write that stored the document.
	Token string `json:"token,omitempty"`
}

func factMapping() object {
	unindexed := object{"type": "keyword", "index": false, "doc_values": false}
	return object{"dynamic": "strict", "properties": object{
		"property": object{"type": "keyword"}, "sequence": object{"type": "long"},
		"namespace": unindexed, "key": unindexed, "names": unindexed, "token": unindexed,
	}}
}

// namespaces returns the namespaces in a ledger.
func (f fact) namespaces() map[string]bool {
	all := map[string]bool{}
	for n := range strings.SplitSeq(f.Key, "/") {
		if n != "" {
			all[n] = true
		}
	}
	return all
}

// sums returns the hashes in Names.
func (f fact) sums() (map[mutations.NameSum]bool, error) {
	encoded, err := base64.StdEncoding.DecodeString(f.Names)
	names := map[mutations.NameSum]bool{}
	for ; len(encoded) >= 8; encoded = encoded[8:] {
		names[mutations.NameSum(binary.BigEndian.Uint64(encoded))] = true
	}
	return names, err
}

// facts is the facts index as this replica sees it.
type facts struct {
	cluster *cluster
	names   names
	ledgers *ledgers
	tags    *madeTags
}

func newFacts(c *cluster, n names) *facts {
	return &facts{c, n, &ledgers{cluster: c, names: n, known: map[library.PropertyID]*ledger{}}, &madeTags{cluster: c, names: n}}
}

// forget forgets what this replica remembers about a property.
func (f *facts) forget(p library.PropertyID) {
	f.ledgers.keep(p, nil)
	f.tags.forget()
}

// read reads the facts of properties.
func (f *facts) read(ctx context.Context, properties map[library.PropertyID]transfer.Property) error {
	if err := f.cluster.do(ctx, http.MethodPost, "/"+f.names.facts()+"/_refresh", nil, &onShards{}); err != nil {
		return fmt.Errorf("read the facts: %w", err)
	}
	hits, err := bySequence[fact](ctx, f.cluster.do, f.names.facts(), 0)
	if err != nil {
		return fmt.Errorf("read the facts: %w", err)
	}
	for _, h := range hits {
		p, ok := properties[h.Source.Property]
		switch {
		case !ok:
		case h.Source.Namespace != "":
			p.Tags[item.Tag{Namespace: h.Source.Namespace, Key: h.Source.Key}] = true
		default:
			if p.Names, err = h.Source.sums(); err != nil {
				return fmt.Errorf("read the ledger of property %s: %w", h.Source.Property, err)
			}
			p.Sequence = h.Source.Sequence
			properties[h.Source.Property] = p
		}
	}
	return nil
}

// erase deletes the facts of a property: its ledger and its tags. It reports whether there were any facts.
func (f *facts) erase(ctx context.Context, p library.PropertyID) (bool, error) {
	var answer deletedDocuments
	f.forget(p)
	// The query must also find documents that were stored immediately before.
	err := f.cluster.do(ctx, http.MethodPost, "/"+f.names.facts()+"/_refresh", nil, &onShards{})
	if err == nil {
		body := object{"query": object{"term": object{"property": string(p)}}}
		err = f.cluster.do(ctx, http.MethodPost, "/"+f.names.facts()+"/_delete_by_query?conflicts=proceed&refresh=true", body, &answer)
	}
	if err != nil {
		return false, fmt.Errorf("delete the facts of property %s: %w", p, err)
	}
	return *answer.Deleted > 0, nil
}

// deletedDocuments is the response to a request that deletes the documents that match a query.
type deletedDocuments struct {
	TimedOut *bool    `json:"timed_out"`
	Deleted  *int     `json:"deleted"`
	Failures []object `json:"failures"`
}

func (a *deletedDocuments) lacks() string {
	return cmp.Or(lacking(a.Deleted != nil && a.TimedOut != nil, "deleted"),
		unless(a.TimedOut == nil || !*a.TimedOut, "the deletion timed out"), unless(len(a.Failures) == 0, "some documents were not deleted"))
}
