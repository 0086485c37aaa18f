// Package query is the query language: Lucene's classic query-parser syntax with OpenSearch's query_string semantics,
// and what the specification adds to it ("specification, Query language"). docs/query-language.md is its reference.
//
// Parse turns text into a tree of Nodes without looking at any field; Check judges a tree against the catalogue of
// fields, the one table in catalogue.go; package plan gives it the typed meaning that a library evaluates. Queries are
// composed as trees (And), never as strings. ParseOrder reads sort strings.
//
// Invariants: a Node never changes once made; Parse(n.String()) equals every tree n that Parse can return; no input
// makes this package panic, and its time and memory are bounded by the limits in limits.go; positions in errors count
// characters from 0.
//
// It may import the standard library and its subpackages analysis and automaton, and knows no index.
package query
