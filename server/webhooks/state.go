package webhooks

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Webhook is a webhook that the operator serves.
type Webhook struct {
	library.Definition
	// Keys are the signing secrets: each delivery has one signature for each of them.
	Keys [][]byte
	// BaseURL is the prefix of the server's own short links in items.
	BaseURL string
	// Test identifies a request for a test, and is "" if there is none. A worker sends one test for each request, whatever its deliveries do.
	Test string
	// Replay identifies a request to send the changes since ReplaySince again, and is "" if there is none. The mark records the last request,
	// so that each one takes effect once, even if the server restarts.
	Replay      string
	ReplaySince time.Time
}

// Result classifies the last attempt of a webhook.
type Result string

// Results of an attempt. The zero Result means that there was no attempt yet.
const (
	Delivered    Result = "delivered"
	Failed       Result = "failed"
	Refused      Result = "refused" // by the Policy
	Stopped      Result = "stopped" // by a receiver that responded with 410
	FilterAbsent Result = "filter_absent"
)

// State describes the deliveries of a webhook.
type State struct {
	Result Result
	// Problem describes why the last attempt failed. It contains nothing that the receiver has sent, except its status code.
	Problem string
	// Waiting is the number of changes that waited after the last attempt, or 0 if it is not known. If More is true, there may be more.
	Waiting int
	More    bool
	// Test is the outcome of the newest test of this process, and Replay is the newest replay. They are nil if there was none.
	Test   *Tested
	Replay *Replayed
}

// Tested is the outcome of a test.
type Tested struct {
	// Request is Webhook.Test.
	Request string
	At      time.Time
	// Problem describes why the test failed, as State.Problem does. It is "" if the receiver has accepted the test.
	Problem string
}

// Replayed is a replay that has begun.
type Replayed struct {
	// Request is Webhook.Replay.
	Request string    `json:"request"`
	At      time.Time `json:"at"`
	// From is the time since which all changes are sent again. It is zero if the receiver gets a reset instead, because the worker does not
	// know its cursor of the requested time.
	From time.Time `json:"from,omitzero"`
}
