package webhooks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// The types of deliveries.
const (
	typeChanged = "content.changed"
	// typeReset means that changes cannot be told one by one: the receiver has to list the items.
	typeReset = "content.reset"
	// typeTest is that of a test, which contains no changes.
	typeTest = "content.test"
)

// envelope is the body of a delivery.
type envelope struct {
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
}

// data is the member data of the body.
type data struct {
	Webhook    string `json:"webhook"`
	FilterUUID string `json:"filter_uuid,omitempty"`
	// Tags are the cache tags of what has changed: that of the filter or, without one, of the property, and those of the items.
	Tags    []string `json:"tags"`
	Changes []change `json:"changes"`
}

// tags returns the cache tags of a delivery.
func (w *worker) tags(changes []change) []string {
	hook := w.hook.Load()
	tags := []string{w.d.tags.Listing(hook.Property, hook.Webhook.FilterUUID)}
	for _, c := range changes {
		tags = append(tags, w.d.tags.Item(hook.Property, c.ID))
	}
	return tags
}

// stopped is the problem of a webhook whose receiver responded with 410.
const stopped = "the receiver responded with 410, so the server sends nothing until the spec changes or a replay is requested"

// deliver sends one delivery. The error is a *failure if the receiver has not accepted it.
//
// The id depends on the cursor at which the delivery begins, and on the items as they are now, also if the receiver does not get them. A repeated
// attempt has the same id, so that the receiver can ignore it, unless an item has changed in the meantime. A reset begins at the time of the
// attempt, so each attempt has an id of its own. After a replay, the ids differ from those before it.
func (w *worker) deliver(ctx context.Context, kind, cursor string, changes []change) error {
	hook := w.hook.Load()
	if w.mark.Replayed != nil {
		cursor += " " + w.mark.Replayed.Request
	}
	err := w.send(ctx, kind, cursor, w.tags(changes), changes)
	if f, ok := errors.AsType[*failure](err); ok && f.code == http.StatusGone {
		w.mark.Stopped = hex.EncodeToString(w.revision[:])
		if err := w.d.save(ctx, hook.Owner, w.mark); err != nil {
			return err
		}
		return &failure{result: Stopped, problem: stopped}
	}
	if err == nil {
		w.report(nil)
	}
	return err
}

// test sends a test for each request in the hook, until ctx ends. It runs beside run, because a test must not wait for the deliveries, nor
// change what they do.
func (w *worker) test(ctx context.Context) {
	for done := ""; ; {
		hook := w.hook.Load()
		if hook.Test != "" && hook.Test != done {
			done = hook.Test
			err := w.send(ctx, typeTest, hook.Test, []string{}, nil)
			if ctx.Err() != nil {
				return
			}
			outcome := Tested{Request: hook.Test, At: w.d.o.Clock()}
			if err != nil {
				outcome.Problem = err.Error()
			}
			w.tested.Store(&outcome)
			w.d.changed(hook.Owner)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-w.asked:
		}
	}
}

// send sends a request to the receiver. Its id depends on place and on the items of the changes. The error is a *failure if the receiver has not accepted
// the request.
func (w *worker) send(ctx context.Context, kind, place string, tags []string, changes []change) error {
	hook := w.hook.Load()
	of := data{hook.Owner.Namespace + "/" + hook.Owner.Name, hook.Webhook.FilterUUID, tags, append([]change{}, changes...)}
	text, err := json.Marshal(of)
	if err != nil {
		return fmt.Errorf("encode the changes: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %q %s %s", hook.Owner, hook.Created.Unix(), place, kind, text))
	if !hook.Webhook.Items {
		for i := range of.Changes {
			of.Changes[i].Item = nil
		}
		if text, err = json.Marshal(of); err != nil {
			return fmt.Errorf("encode the changes: %w", err)
		}
	}
	now := w.d.o.Clock()
	body, err := json.Marshal(envelope{kind, now.UTC().Format(time.RFC3339), text})
	if err != nil {
		return fmt.Errorf("encode the delivery: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.Webhook.URL, bytes.NewReader(body))
	if err != nil {
		return &failure{result: Refused, problem: "the URL is not valid"}
	}
	if err := w.d.o.Policy.checkURL(request.URL); err != nil {
		result, problem := explain(err)
		return &failure{result: result, problem: problem}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "vitrine")
	sign(request.Header, "msg_"+base64.RawURLEncoding.EncodeToString(sum[:18]), now, body, hook.Keys)
	response, err := w.d.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		result, problem := explain(err)
		return &failure{result: result, problem: problem}
	}
	defer response.Body.Close()
	// Read a short body, so that the connection can be used again. Its content does not matter. The body of a 101 is the connection itself,
	// which has no time limit.
	if response.StatusCode != http.StatusSwitchingProtocols {
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxBody))
	}
	if code := response.StatusCode; code < 200 || code >= 300 {
		return &failure{
			result: Failed, problem: "the receiver responded with " + strconv.Itoa(code), code: code,
			after: retryAfter(response.Header.Get("Retry-After"), now),
		}
	}
	return nil
}

// retryAfter returns the time in a header Retry-After, which contains seconds or a date, or 0. If it contains too many seconds for 31 bits, it
// counts as the largest number.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
