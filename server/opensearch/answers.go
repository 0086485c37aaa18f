package opensearch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/vitrine-dev/vitrine/server/library"
)

// answer is a successful response of the cluster. A response of a proxy, a response that was cut off, or a response about a part of the
// shards can also have a successful status and be valid JSON. Its type therefore says what the request relies on, and cluster.once checks
// every response. Without this check, a missing part would mean that an item, an index or a whole library does not exist.
type answer interface {
	// lacks describes a part that the request relies on and the response does not contain, or returns "".
	lacks() string
}

// incompleteError means that a response is not a whole response of OpenSearch. The cluster may have processed the request.
type incompleteError struct {
	request string // method and path
	lacks   string
}

// Error describes the response. It does not quote the response, which may contain items.
func (e *incompleteError) Error() string {
	return fmt.Sprintf("the response to %s is not a complete response of OpenSearch: %s", e.request, e.lacks)
}

// Is reports whether target is library.ErrUnavailable.
func (e *incompleteError) Is(target error) bool { return target == library.ErrUnavailable }

// decode decodes a response as JSON or CBOR, according to its Content-Type header.
func decode(header http.Header, data []byte, out any) error {
	if header.Get("Content-Type") == "application/cbor" {
		return cbor.Unmarshal(data, out)
	}
	return json.Unmarshal(data, out)
}

// unless returns text, unless a part is there.
func unless(there bool, text string) string {
	if there {
		return ""
	}
	return text
}

// lacking says that a member of a response is missing.
func lacking(there bool, member string) string { return unless(there, "it has no member "+member) }

// shards counts the copies of shards that a request concerned.
type shards struct {
	Total      int  `json:"total"`
	Successful int  `json:"successful"`
	Failed     *int `json:"failed"`
}

// onShards is the response to a request that every working copy of a shard processed.
type onShards struct {
	Shards *shards `json:"_shards"`
}

func (a *onShards) lacks() string {
	if a.Shards == nil || a.Shards.Failed == nil {
		return lacking(false, "_shards")
	}
	return unless(*a.Shards.Failed == 0, fmt.Sprintf("%d shards failed", *a.Shards.Failed))
}

// acknowledged is the response to a change of indices, aliases or settings.
type acknowledged struct {
	Acknowledged bool `json:"acknowledged"`
}

func (a *acknowledged) lacks() string {
	return unless(a.Acknowledged, "it does not acknowledge the change")
}

// blockedWrites is the response to a request that blocks writes.
type blockedWrites struct {
	acknowledged
	// All is true if every shard has confirmed that no write is in progress. Indices lists the indices that were not blocked before.
	All     bool     `json:"shards_acknowledged"`
	Indices []object `json:"indices"`
}

// searched is the response to a search.
type searched struct {
	TimedOut *bool `json:"timed_out"`
	onShards
}

func (a *searched) lacks() string { return cmp.Or(a.inTime(), a.onShards.lacks()) }

// inTime is like lacks, for a search in the shards that work.
func (a *searched) inTime() string {
	return cmp.Or(lacking(a.TimedOut != nil, "timed_out"), unless(a.TimedOut == nil || !*a.TimedOut, "the search timed out"))
}

// hitsOf is the response to a search. Its hits have the type T.
type hitsOf[T any] struct {
	searched
	Hits *struct {
		Total *struct {
			Value int64 `json:"value"`
		} `json:"total"`
		Hits []T `json:"hits"`
	} `json:"hits"`
}

func (a *hitsOf[T]) lacks() string { return cmp.Or(a.searched.lacks(), a.found()) }

// found is like lacks, for the hits alone.
func (a *hitsOf[T]) found() string { return lacking(a.Hits != nil && a.Hits.Hits != nil, "hits") }

// countedOf is the response to a search that counts all matching documents.
type countedOf[T any] struct{ hitsOf[T] }

func (a *countedOf[T]) lacks() string {
	return cmp.Or(a.hitsOf.lacks(), lacking(a.Hits == nil || a.Hits.Total != nil, "hits.total"))
}

// gotDocument is the response to a request for one document. S is the type of its source.
type gotDocument[S any] struct {
	version
	Found  bool `json:"found"`
	Source *S   `json:"_source"`
}

func (a *gotDocument[S]) lacks() string {
	return cmp.Or(lacking(a.Found && a.Term > 0, "found"), lacking(a.Source != nil, "_source"))
}

// existing is the response to a request whether a document exists.
type existing struct {
	Found bool `json:"found"`
}

func (a *existing) lacks() string { return lacking(a.Found, "found") }

// putDocument is the response to a request that stores one document.
type putDocument struct {
	Result string `json:"result"`
}

func (a *putDocument) lacks() string { return lacking(a.Result != "", "result") }

// presence tells whether a document of documentsOf exists.
type presence struct {
	Found *bool  `json:"found"`
	Error *cause `json:"error"`
}

func (p presence) known() bool { return p.Found != nil || p.Error != nil }

// exists reports whether the document exists.
func (p presence) exists() bool { return p.Found != nil && *p.Found }

// documentsOf is the response to a request for several documents.
type documentsOf[D interface{ known() bool }] struct {
	// wanted is the number of requested documents.
	wanted int `json:"-"`
	Docs   []D `json:"docs"`
}

func (a *documentsOf[D]) lacks() string {
	unknown := func(d D) bool { return !d.known() }
	return unless(len(a.Docs) == a.wanted && !slices.ContainsFunc(a.Docs, unknown), fmt.Sprintf("it does not describe all %d documents", a.wanted))
}

// health is the response to a request for the health of the cluster.
type health struct {
	Status string `json:"status"`
}

func (a *health) lacks() string { return lacking(a.Status != "", "status") }

// healthOfIndices is the response to a request for the health of indices.
type healthOfIndices struct {
	health
	Indices map[string]health `json:"indices"`
}

func (a *healthOfIndices) lacks() string {
	return cmp.Or(a.health.lacks(), lacking(a.Indices != nil, "indices"))
}

// count is the response to a request for the number of documents.
type count struct {
	onShards
	Count *int64 `json:"count"`
}

func (a *count) lacks() string { return cmp.Or(a.onShards.lacks(), lacking(a.Count != nil, "count")) }

// blank is the state of an answer before it is decoded. A later attempt of a request must not see members of an earlier response.
type blank struct{ answer, before reflect.Value }

func blankOf(a answer) blank {
	if a == nil {
		return blank{}
	}
	v := reflect.ValueOf(a).Elem()
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	return blank{v, before}
}

func (b blank) restore() {
	if b.answer.IsValid() {
		b.answer.Set(b.before)
	}
}
