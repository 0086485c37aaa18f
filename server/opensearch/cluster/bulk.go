package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Operation is one operation of a bulk request.
type Operation struct {
	Index, ID string
	// Doc is the document to store: a function of the type encoded, or a value for package json. If it is nil, the operation deletes the
	// document.
	Doc any
	// At is the state that the operation replaces. If At is nil, an operation with a document stores it only if no document exists, and an
	// operation without a document deletes the existing document in any state.
	At *Version
	// Over is true if the operation stores the document whether or not one exists.
	Over bool
	// External is the version number of a document that is copied from another index. The operation replaces a document only if that
	// document has a lower version number. External is 0 for all other operations.
	External int64
}

// encoded is a function that appends a document in JSON. It is called when a request is built, so that memory holds only the documents of
// one request.
type encoded = func(dst []byte) []byte

// Outcome is the result of an operation.
type Outcome struct {
	Version
	// Conflict is true if the document was not in the state that the operation replaces. The operation then changed nothing.
	Conflict bool
	// Err is the reason for a failed operation. If there was no response, the cluster may have executed the operation. The caller can send
	// the operation again: if the first attempt succeeded, the second attempt is a conflict.
	Err error
}

// FirstError returns the first error of the outcomes.
func FirstError(outcomes []Outcome) error {
	for _, o := range outcomes {
		if o.Err != nil {
			return o.Err
		}
	}
	return nil
}

// These are values of the refresh parameter.
const (
	RefreshNow  = "true"
	RefreshWait = "wait_for"
	RefreshNone = "false"
)

// shardTimeout is the time for which the cluster waits for a shard that accepts no writes. It is shorter than the timeout of a request,
// so that the response contains the reason.
const shardTimeout = "5s"

// WriteAttempt limits each attempt of a bulk request, and each lookup that a write needs before the request. It is longer than
// shardTimeout.
const WriteAttempt = 10 * time.Second

// MaxAttempts is the maximum number of attempts of a change whose documents other changes keep changing.
const MaxAttempts = 50

// bulkBytes is the approximate maximum size of a bulk request.
const bulkBytes = 8 << 20

// Bulk runs operations. It retries operations that the cluster rejects for lack of capacity, until ctx ends or the timeout passes.
func (c *Client) Bulk(ctx context.Context, ops []Operation, refresh string) []Outcome {
	within, cancel := c.Bounded(ctx)
	defer cancel()
	quick := *c
	quick.attempt = min(c.attempt, WriteAttempt)
	outcomes := make([]Outcome, len(ops))
	pending := make([]int, len(ops))
	for i := range ops {
		pending[i] = i
	}
	for pause := ShortestPause; ; pause = min(2*pause, longestPause) {
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
					outcomes[i] = Outcome{Err: err}
				}
				return outcomes
			}
			pending = pending[n:]
		}
		if pending = refused; len(pending) == 0 || !Wait(within, pause) {
			return outcomes
		}
	}
}

// encodeBulk encodes pending operations until the body has about bulkBytes. It returns the number of encoded operations.
func encodeBulk(ops []Operation, pending []int) (body []byte, n int, err error) {
	for _, i := range pending {
		op := &ops[i]
		action := "create"
		if op.At != nil || op.Over || op.External > 0 {
			action = "index"
		}
		if op.Doc == nil {
			action = "delete"
		}
		body = append(append(body, `{"`...), action...)
		body = item.AppendString(append(body, `":{"_id":`...), op.ID)
		body = item.AppendString(append(body, `,"_index":`...), op.Index)
		if op.At != nil {
			body = fmt.Appendf(body, `,"if_seq_no":%d,"if_primary_term":%d`, op.At.Seq, op.At.Term)
		}
		if op.External > 0 {
			body = fmt.Appendf(body, `,"version":%d,"version_type":"external"`, op.External)
		}
		body = append(body, "}}\n"...)
		switch doc := op.Doc.(type) {
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
	Version
	Status int    `json:"status"`
	Error  *cause `json:"error"`
}

// Known reports whether the result of the operation is known.
func (o operationAnswer) Known() bool {
	return o.Status != 0 && (o.Error != nil || o.Term > 0)
}

func (a *bulkAnswer) Lacks() string {
	known := 0
	for _, of := range a.Items {
		for _, o := range of {
			if len(of) == 1 && o.Known() {
				known++
			}
		}
	}
	return Unless(len(a.Items) == a.wanted && known == a.wanted, fmt.Sprintf("it has the results of %d of %d operations", known, a.wanted))
}

// bulkOnce sends one bulk request. It returns the operations that the cluster rejected for lack of capacity. An error applies to the
// whole request.
func (c *Client) bulkOnce(ctx context.Context, body []byte, ops []Operation, sent []int, refresh string, outcomes []Outcome) (refused []int, err error) {
	answer := bulkAnswer{wanted: len(sent)}
	// require_alias prevents a write from creating a missing index with a mapping that this package did not choose.
	path := fmt.Sprintf("/_bulk?require_alias=true&timeout=%s&refresh=%s", shardTimeout, refresh)
	if err := c.Do(ctx, http.MethodPost, path, body, &answer); err != nil {
		return nil, err
	}
	for k, of := range answer.Items {
		i := sent[k]
		for _, r := range of {
			switch {
			case r.Error == nil && r.Status == http.StatusNotFound: // the document of a deletion does not exist
				outcomes[i] = Outcome{Conflict: true}
			case r.Error == nil:
				outcomes[i] = Outcome{Version: r.Version}
			case r.Status == http.StatusConflict:
				outcomes[i] = Outcome{Conflict: true}
			default:
				err := r.Error.Failure(r.Status)
				outcomes[i] = Outcome{Err: fmt.Errorf("store document %s of index %s: %w", ops[i].ID, ops[i].Index, err)}
				if err.passing() {
					refused = append(refused, i)
				}
			}
		}
	}
	return refused, nil
}
