// Package query implements the query language: the syntax of Lucene's classic query parser, with the semantics of OpenSearch's query_string
// and some additions. docs/query-language.md is the reference of the language.
//
// Parse parses text into a tree of Nodes without looking up fields. Check validates a tree against the catalogue of fields in catalogue.go.
// Package plan translates a tree into typed operations that a library evaluates. Callers must combine queries as trees (see And), never as
// strings. ParseOrder parses sort strings.
//
// Invariants: Nodes are immutable. Parse(n.String()) equals n for every tree n that Parse can return. No input makes this package panic.
// The limits in limits.go bound the time and memory that the package uses. Positions in errors count characters from 0.
//
// This package may import only the standard library and the subpackages analysis and automaton. It does not depend on an index.
package query
