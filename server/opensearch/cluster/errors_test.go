package cluster

import (
	"net/http"
	"strings"
	"testing"
)

// TestErrorsQuoteNothing checks that the error about a shard without a working copy does not contain the request that the cluster quotes.
func TestErrorsQuoteNothing(t *testing.T) {
	unavailable := &cause{Type: "unavailable_shards_exception", Reason: "[test][0] primary shard is not active Timeout: [1m], request: " +
		"[BulkShardRequest [[test][0]] containing [index {[test][1], source[{\"text\":\"someone@mail.example\"}]}]]"}
	if err := unavailable.Failure(http.StatusServiceUnavailable); err.Reason == "" || strings.Contains(err.Error(), "someone") {
		t.Errorf("%v, want an error without the document", err)
	}
}
