package opensearch

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// Target is the library that a transfer creates. Its indices cannot be opened as a library until Finish has succeeded.
type Target struct {
	library *Library
	from    transfer.Freeze // since Begin
}

var _ transfer.Target = (*Target)(nil)

// OpenTarget connects to a cluster. Options.Prefix names the new library. OpenTarget returns the same errors as Open. The caller must
// call Close.
func OpenTarget(ctx context.Context, o Options) (*Target, error) {
	l, err := newLibrary(o)
	if err != nil {
		return nil, err
	}
	if err := l.cluster.checkVersion(ctx); err != nil {
		return nil, errors.Join(err, l.disconnect())
	}
	return &Target{library: l}, nil
}

// Close ends the connections to the cluster.
func (t *Target) Close() error { return t.library.disconnect() }

// Begin creates the indices and stores the facts. See transfer.Target.
func (t *Target) Begin(ctx context.Context, from transfer.Freeze, f *transfer.Facts) error {
	l := t.library
	t.from = from
	is, _, err := l.records.readMeta(ctx)
	if err != nil {
		return err
	}
	if is == nil {
		if is, err = t.claim(ctx, from, f.AuthorKey); err != nil {
			return err
		}
	}
	switch {
	case is.Transfer == "":
		return refused("the cluster contains a library with the index prefix %[1]s: choose another --opensearch-index-prefix, or delete the indices %[1]s-*", l.options.Prefix)
	case is.Transfer != from:
		return refused("the indices %s-* are an unfinished copy from another migration (of another library, or of this one at another time): delete them and start again", l.options.Prefix)
	}
	if err := l.createShared(ctx); err != nil {
		return err
	}
	for p := range f.Properties {
		if err := l.indices.createItems(ctx, p); err != nil {
			return err
		}
	}
	ops, err := t.operations(f)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(ops, factsAtOnce) {
		if err := failure(l.cluster.bulk(ctx, chunk, refreshNow)); err != nil {
			return err
		}
	}
	return nil
}

// factsAtOnce is the maximum number of definitions and facts that Begin stores in one step, so that no step exceeds the timeout.
const factsAtOnce = 5000

func refused(format string, args ...any) error {
	return &transfer.RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// claim creates an unfinished copy in a cluster without a library, and then reads the keys from the cluster. If another process created a
// library at the same time, these keys are those of the other library.
func (t *Target) claim(ctx context.Context, from transfer.Freeze, authorKey []byte) (*metaRecord, error) {
	l := t.library
	if _, err := l.indices.checkWhole(ctx); err != nil {
		return nil, err
	}
	if err := l.createShared(ctx); err != nil {
		return nil, err
	}
	doc, err := newMetaRecord(authorKey, from)
	if err != nil {
		return nil, err
	}
	op := operation{index: l.names.definitions(), id: recordMeta, doc: doc}
	if err := failure(l.cluster.bulk(ctx, []operation{op}, refreshNow)); err != nil {
		return nil, err
	}
	is, _, err := l.records.readMeta(ctx)
	if err == nil && is == nil {
		err = fmt.Errorf("the index %s was deleted during the migration", l.names.definitions())
	}
	return is, err
}

func (t *Target) operations(f *transfer.Facts) ([]operation, error) {
	var ops []operation
	put := func(index, id string, doc any) {
		ops = append(ops, operation{index: index, id: id, doc: doc, over: true})
	}
	definitions, facts := t.library.names.definitions(), t.library.names.facts()
	for s, e := range f.Definitions {
		value, err := e.Encode()
		if err != nil {
			return nil, err
		}
		put(definitions, recordID(s), record{Type: recordDefinition, Value: string(value)})
	}
	for key, value := range f.Marks {
		put(definitions, markID(key), record{Type: recordMark, Name: key, Value: value})
	}
	namer := mutations.NewNamer(f.AuthorKey)
	for id, p := range f.Properties {
		ledger := &ledger{sequence: p.Sequence, names: p.Names, namespaces: mutations.OwnNamespaces(namer, p.Tags, p.Names)}
		put(facts, ledgerID(id), ledgerFact(id, ledger))
		for tag := range p.Tags {
			put(facts, tagID(id, tag), tagFact(id, tag))
		}
	}
	return ops, nil
}

// Put stores items. See transfer.Target.
func (t *Target) Put(ctx context.Context, p library.PropertyID, lines []transfer.Line) error {
	l := t.library
	index, err := l.indices.writable(ctx, p)
	if err != nil {
		return err
	}
	ops := make([]operation, len(lines))
	for i, line := range lines {
		it, err := item.Unmarshal(line.Text)
		if err == nil && it.ID != line.ID {
			err = fmt.Errorf("its bytes are those of item %d", it.ID)
		}
		if err != nil {
			return &library.UnreadableItemError{ID: line.ID, Err: err}
		}
		ops[i] = operation{
			index: index.writes(), id: strconv.FormatInt(line.ID, 10), doc: l.indices.schemas.document(index.Schema, it, func() []byte { return line.Text }, ""), over: true,
		}
	}
	return failure(l.cluster.bulk(ctx, ops, refreshNone))
}

// Finish makes the indices a library. See transfer.Target.
func (t *Target) Finish(ctx context.Context, _ map[library.PropertyID]int64) error {
	l := t.library
	doc, err := metaRecord{Format: recordFormat, AuthorKey: base64.StdEncoding.EncodeToString(l.records.now().authorKey), Copied: t.from}.record()
	if err != nil {
		return err
	}
	op := operation{index: l.names.definitions(), id: recordMeta, doc: doc, over: true}
	return failure(l.cluster.bulk(ctx, []operation{op}, refreshNow))
}

// Facts reads the facts back from the cluster. See transfer.Reader.
func (t *Target) Facts(ctx context.Context) (*transfer.Facts, error) { return t.library.Facts(ctx) }

// Lines yields the items in the cluster. See transfer.Reader.
func (t *Target) Lines(ctx context.Context, p library.PropertyID) iter.Seq2[transfer.Line, error] {
	return t.library.Lines(ctx, p)
}
