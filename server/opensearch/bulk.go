package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
)

// version identifies one state of a document.
type version struct {
	Seq  int64 `json:"_seq_no"`
	Term int64 `json:"_primary_term"`
}

// operation is one operation of a bulk request.
type operation struct {
	index, id string
	// doc is the document to store: a function of the type encoded, or a value for package json. If it is nil, the operation deletes the
	// document.
	doc any
	// at is the state that the operation replaces. If at is nil, an operation with a document stores it only if no document exists, and an
	// operation without a document deletes the existing document in any state.
	at *version
	// over is true if the operation stores the document whether or not one exists.
	over bool
	// external is the version number of a document that is copied from another index. The operation replaces a document only if that
	// document has a lower version number. external is 0 for all other operations.
	external int64
}

// encoded is a function that appends a document in JSON. It is called when a request is built, so that memory holds only the documents of
// one request.
type encoded = func(dst []byte) []byte

// outcome is the result of an operation.
type outcome struct {
	version
	// conflict is true if the document was not in the state that the operation replaces. The operation then changed nothing.
	conflict bool
	// err is the reason for a failed operation. If there was no response, the cluster may have executed the operation. The caller can send
	// the operation again: if the first attempt succeeded, the second attempt is a conflict.
	err error
}

// failure returns the first error of the outcomes.
func failure(outcomes []outcome) error {
	for _, o := range outcomes {
		if o.err != nil {
			return o.err
		}
	}
	return nil
}

// These are values of the refresh parameter.
const (
	refreshNow  = "true"
	refreshWait = "wait_for"
	refreshNone = "false"
)

// shardTimeout is the time for which the cluster waits for a shard that accepts no writes. It is shorter than the timeout of a request,
// so that the response contains the reason.
const shardTimeout = "5s"

// writeAttempt limits each attempt of a bulk request, and each lookup that a write needs before the request. It is longer than
// shardTimeout.
const writeAttempt = 10 * time.Second

// maxAttempts is the maximum number of attempts of a change whose documents other changes keep changing.
const maxAttempts = 50

// bulkBytes is the approximate maximum size of a bulk request.
const bulkBytes = 8 << 20

// bulk runs operations. It retries operations that the cluster rejects for lack of capacity, until ctx ends or the timeout passes.
func (c *cluster) bulk(ctx context.Context, ops []operation, refresh string) []outcome {
	within, cancel := c.bounded(ctx)
	defer cancel()
	quick := *c
	quick.attempt = min(c.attempt, writeAttempt)
	outcomes := make([]outcome, len(ops))
	pending := make([]int, len(ops))
	for i := range ops {
		pending[i] = i
	}
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		var refused []int
		for len(pending) > 0 {
			body, n, err := encodeBulk(ops, pending)
			if err == nil {
				var again []int
				again, err = quick.bulkOnce(within, body, ops, pending[:n], refresh, outcomes)
				refused = append(refused, again...)
			}
			if err != nil {
				// The remaining requests would fail in the same way.
				for _, i := range slices.Concat(pending, refused) {
					outcomes[i] = outcome{err: err}
				}
				return outcomes
			}
			pending = pending[n:]
		}
		if pending = refused; len(pending) == 0 || !wait(within, pause) {
			return outcomes
		}
	}
}

// encodeBulk encodes pending operations until the body has about bulkBytes. It returns the number of encoded operations.
func encodeBulk(ops []operation, pending []int) (body []byte, n int, err error) {
	for _, i := range pending {
		op := &ops[i]
		action := "create"
		if op.at != nil || op.over || op.external > 0 {
			action = "index"
		}
		if op.doc == nil {
			action = "delete"
		}
		body = append(append(body, `{"`...), action...)
		body = item.AppendString(append(body, `":{"_id":`...), op.id)
		body = item.AppendString(append(body, `,"_index":`...), op.index)
		if op.at != nil {
			body = fmt.Appendf(body, `,"if_seq_no":%d,"if_primary_term":%d`, op.at.Seq, op.at.Term)
		}
		if op.external > 0 {
			body = fmt.Appendf(body, `,"version":%d,"version_type":"external"`, op.external)
		}
		body = append(body, "}}\n"...)
		switch doc := op.doc.(type) {
		case nil:
		case encoded:
			body = append(doc(body), '\n')
		default:
			value, err := json.Marshal(doc)
			if err != nil {
				return nil, 0, fmt.Errorf("encode a bulk request: %w", err)
			}
			body = append(append(body, value...), '\n')
		}
		if n++; len(body) > bulkBytes {
			break
		}
		if n == 1 { // most of the other documents have a similar size
			body = slices.Grow(body, min(len(body)*len(pending), bulkBytes)*5/4)
		}
	}
	return body, n, nil
}

// bulkAnswer is the response to a bulk request.
type bulkAnswer struct {
	// wanted is the number of operations in the request.
	wanted int
	Items  []map[string]operationAnswer `json:"items"`
}

// operationAnswer is the result of one operation.
type operationAnswer struct {
	version
	Status int    `json:"status"`
	Error  *cause `json:"error"`
}

// known reports whether the result of the operation is known.
func (o operationAnswer) known() bool {
	return o.Status != 0 && (o.Error != nil || o.Term > 0)
}

func (a *bulkAnswer) lacks() string {
	known := 0
	for _, of := range a.Items {
		for _, o := range of {
			if len(of) == 1 && o.known() {
				known++
			}
		}
	}
	return unless(len(a.Items) == a.wanted && known == a.wanted, fmt.Sprintf("it has the results of %d of %d operations", known, a.wanted))
}

// bulkOnce sends one bulk request. It returns the operations that the cluster rejected for lack of capacity. An error applies to the
// whole request.
func (c *cluster) bulkOnce(ctx context.Context, body []byte, ops []operation, sent []int, refresh string, outcomes []outcome) (refused []int, err error) {
	answer := bulkAnswer{wanted: len(sent)}
	// require_alias prevents a write from creating a missing index with a mapping that this package did not choose.
	path := fmt.Sprintf("/_bulk?require_alias=true&timeout=%s&refresh=%s", shardTimeout, refresh)
	if err := c.do(ctx, http.MethodPost, path, body, &answer); err != nil {
		return nil, err
	}
	for k, of := range answer.Items {
		i := sent[k]
		for _, r := range of {
			switch {
			case r.Error == nil && r.Status == http.StatusNotFound: // the document of a deletion does not exist
				outcomes[i] = outcome{conflict: true}
			case r.Error == nil:
				outcomes[i] = outcome{version: r.version}
			case r.Status == http.StatusConflict:
				outcomes[i] = outcome{conflict: true}
			default:
				err := r.Error.failure(r.Status)
				outcomes[i] = outcome{err: fmt.Errorf("store document %s of index %s: %w", ops[i].id, ops[i].index, err)}
				if err.passing() {
					refused = append(refused, i)
				}
			}
		}
	}
	return refused, nil
}
