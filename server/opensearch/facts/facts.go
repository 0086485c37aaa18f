// Package facts reads and writes the facts index, which contains data that outlives items: the ledger of each property, the tags that exist
// or existed, the notes about data to erase, and the claims that decide which replica does a task.
//
// The package may import cluster, schema, flight, mutations, transfer, library and item.
package facts

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
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// object is a JSON object of a request.
type object = map[string]any

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

// Mapping returns the mapping of the facts index.
func Mapping() object {
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

// Facts is the facts index as this replica sees it.
type Facts struct {
	cluster *cluster.Client
	names   schema.Names
	Ledgers *ledgers
	Tags    *Tags
}

// New returns the facts of the library whose indices have the given names.
func New(c *cluster.Client, n schema.Names) *Facts {
	return &Facts{c, n, &ledgers{cluster: c, names: n, known: map[library.PropertyID]*Ledger{}}, &Tags{cluster: c, names: n}}
}

// Forget forgets what this replica remembers about a property.
func (f *Facts) Forget(p library.PropertyID) {
	f.Ledgers.keep(p, nil)
	f.Tags.forget()
}

// Read reads the facts of properties.
func (f *Facts) Read(ctx context.Context, properties map[library.PropertyID]transfer.Property) error {
	if err := f.cluster.Do(ctx, http.MethodPost, "/"+f.names.Facts()+"/_refresh", nil, &cluster.OnShards{}); err != nil {
		return fmt.Errorf("read the facts: %w", err)
	}
	hits, err := cluster.BySequence[fact](ctx, f.cluster.Do, f.names.Facts(), 0)
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

// Erase deletes the facts of a property: its ledger and its tags. It reports whether there were any facts.
func (f *Facts) Erase(ctx context.Context, p library.PropertyID) (bool, error) {
	var answer deletedDocuments
	f.Forget(p)
	// The query must also find documents that were stored immediately before.
	err := f.cluster.Do(ctx, http.MethodPost, "/"+f.names.Facts()+"/_refresh", nil, &cluster.OnShards{})
	if err == nil {
		body := object{"query": object{"term": object{"property": string(p)}}}
		err = f.cluster.Do(ctx, http.MethodPost, "/"+f.names.Facts()+"/_delete_by_query?conflicts=proceed&refresh=true", body, &answer)
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

func (a *deletedDocuments) Lacks() string {
	return cmp.Or(cluster.Lacking(a.Deleted != nil && a.TimedOut != nil, "deleted"),
		cluster.Unless(a.TimedOut == nil || !*a.TimedOut, "the deletion timed out"), cluster.Unless(len(a.Failures) == 0, "some documents were not deleted"))
}

// Operations returns the operations that store the facts of a property of a transfer.
func (f *Facts) Operations(id library.PropertyID, p transfer.Property, namer *mutations.Namer) []cluster.Operation {
	ledger := &Ledger{Sequence: p.Sequence, Names: p.Names, Namespaces: mutations.OwnNamespaces(namer, p.Tags, p.Names)}
	ops := []cluster.Operation{{Index: f.names.Facts(), ID: ledgerID(id), Doc: ledgerFact(id, ledger), Over: true}}
	for tag := range p.Tags {
		ops = append(ops, cluster.Operation{Index: f.names.Facts(), ID: tagID(id, tag), Doc: tagFact(id, tag), Over: true})
	}
	return ops
}
