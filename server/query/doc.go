// Package query implements the query language: Lucene's classic query-parser syntax with OpenSearch's query_string semantics and the
// additions of the specification (section "Query language"). docs/query-language.md is its reference.
//
// Parse parses text into a tree of Nodes without looking up fields. Check validates a tree against the catalogue of fields in catalogue.go.
// Package plan translates a tree into typed operations that a library evaluates. Callers combine queries as trees (And), never as strings.
// ParseOrder parses sort strings.
//
// Invariants: Nodes are immutable. Parse(n.String()) equals n for every tree n that Parse can return. No input makes this package panic.
// The limits in limits.go bound its time and memory. Positions in errors count characters from 0.
//
// This package may import only the standard library and its subpackages analysis and automaton. It does not depend on an
// index.
package query
