package cluster

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// Answer is a successful response of the cluster. A response of a proxy, a response that was cut off, or a response about a part of the
// shards can also have a successful status and be valid JSON. Its type therefore says what the request relies on, and Client.once checks
// every response. Without this check, a missing part would mean that an item, an index or a whole library does not exist.
type Answer interface {
	// Lacks describes a part that the request relies on and the response does not contain, or returns "".
	Lacks() string
}

// Unless returns text, unless a part is there.
func Unless(there bool, text string) string {
	if there {
		return ""
	}
	return text
}

// Lacking says that a member of a response is missing.
func Lacking(there bool, member string) string { return Unless(there, "it has no member "+member) }

// shards counts the copies of shards that a request concerned.
type shards struct {
	Total      int  `json:"total"`
	Successful int  `json:"successful"`
	Failed     *int `json:"failed"`
}

// OnShards is the response to a request that every working copy of a shard processed.
type OnShards struct {
	Shards *shards `json:"_shards"`
}

// Lacks implements Answer.
func (a *OnShards) Lacks() string {
	if a.Shards == nil || a.Shards.Failed == nil {
		return Lacking(false, "_shards")
	}
	return Unless(*a.Shards.Failed == 0, fmt.Sprintf("%d shards failed", *a.Shards.Failed))
}

// Acknowledged is the response to a change of indices, aliases or settings.
type Acknowledged struct {
	Acknowledged bool `json:"acknowledged"`
}

// Lacks implements Answer.
func (a *Acknowledged) Lacks() string {
	return Unless(a.Acknowledged, "it does not acknowledge the change")
}

// BlockedWrites is the response to a request that blocks writes.
type BlockedWrites struct {
	Acknowledged
	// All is true if every shard has confirmed that no write is in progress. Indices lists the indices that were not blocked before.
	All     bool     `json:"shards_acknowledged"`
	Indices []object `json:"indices"`
}

// Searched is the response to a search.
type Searched struct {
	TimedOut *bool `json:"timed_out"`
	OnShards
}

// Lacks implements Answer.
func (a *Searched) Lacks() string { return cmp.Or(a.InTime(), a.OnShards.Lacks()) }

// InTime is like lacks, for a search in the shards that work.
func (a *Searched) InTime() string {
	return cmp.Or(Lacking(a.TimedOut != nil, "timed_out"), Unless(a.TimedOut == nil || !*a.TimedOut, "the search timed out"))
}

// HitsOf is the response to a search. Its hits have the type T.
type HitsOf[T any] struct {
	Searched
	Hits *struct {
		Total *struct {
			Value int64 `json:"value"`
		} `json:"total"`
		Hits []T `json:"hits"`
	} `json:"hits"`
}

// Lacks implements Answer.
func (a *HitsOf[T]) Lacks() string { return cmp.Or(a.Searched.Lacks(), a.Found()) }

// Found is like lacks, for the hits alone.
func (a *HitsOf[T]) Found() string { return Lacking(a.Hits != nil && a.Hits.Hits != nil, "hits") }

// CountedOf is the response to a search that counts all matching documents.
type CountedOf[T any] struct{ HitsOf[T] }

// Lacks implements Answer.
func (a *CountedOf[T]) Lacks() string {
	return cmp.Or(a.HitsOf.Lacks(), Lacking(a.Hits == nil || a.Hits.Total != nil, "hits.total"))
}

// GotDocument is the response to a request for one document. S is the type of its source.
type GotDocument[S any] struct {
	Version
	Found  bool `json:"found"`
	Source *S   `json:"_source"`
}

// Lacks implements Answer.
func (a *GotDocument[S]) Lacks() string {
	return cmp.Or(Lacking(a.Found && a.Term > 0, "found"), Lacking(a.Source != nil, "_source"))
}

// Existing is the response to a request whether a document exists.
type Existing struct {
	Found bool `json:"found"`
}

// Lacks implements Answer.
func (a *Existing) Lacks() string { return Lacking(a.Found, "found") }

// PutDocument is the response to a request that stores one document.
type PutDocument struct {
	Result string `json:"result"`
}

// Lacks implements Answer.
func (a *PutDocument) Lacks() string { return Lacking(a.Result != "", "result") }

// Presence tells whether a document of DocumentsOf exists.
type Presence struct {
	Found *bool  `json:"found"`
	Error *cause `json:"error"`
}

// Known implements the constraint of DocumentsOf: the response says whether the document exists.
func (p Presence) Known() bool { return p.Found != nil || p.Error != nil }

// Exists reports whether the document exists.
func (p Presence) Exists() bool { return p.Found != nil && *p.Found }

// DocumentsOf is the response to a request for several documents.
type DocumentsOf[D interface{ Known() bool }] struct {
	// Wanted is the number of requested documents.
	Wanted int `json:"-"`
	Docs   []D `json:"docs"`
}

// Lacks implements Answer.
func (a *DocumentsOf[D]) Lacks() string {
	unknown := func(d D) bool { return !d.Known() }
	return Unless(len(a.Docs) == a.Wanted && !slices.ContainsFunc(a.Docs, unknown), fmt.Sprintf("it does not describe all %d documents", a.Wanted))
}

// Health is the response to a request for the health of the cluster.
type Health struct {
	Status string `json:"status"`
}

// Lacks implements Answer.
func (a *Health) Lacks() string { return Lacking(a.Status != "", "status") }

// HealthOfIndices is the response to a request for the health of indices.
type HealthOfIndices struct {
	Health
	Indices map[string]Health `json:"indices"`
}

// Lacks implements Answer.
func (a *HealthOfIndices) Lacks() string {
	return cmp.Or(a.Health.Lacks(), Lacking(a.Indices != nil, "indices"))
}

// Count is the response to a request for the number of documents.
type Count struct {
	OnShards
	Count *int64 `json:"count"`
}

// Lacks implements Answer.
func (a *Count) Lacks() string { return cmp.Or(a.OnShards.Lacks(), Lacking(a.Count != nil, "count")) }

// blank is the state of an answer before it is decoded. A later attempt of a request must not see members of an earlier response.
type blank struct{ answer, before reflect.Value }

func blankOf(a Answer) blank {
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
