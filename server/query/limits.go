package query

// The limits of a query. Passing one is a SyntaxError of its own with Limit set.
const (
	// MaxLength is the longest query, in bytes.
	MaxLength = 16 << 10
	// MaxNesting is how deep brackets may stand in one another.
	MaxNesting = 200
	// MaxClauses is the number of leaves that a query may have, before and after words, lists and field patterns are
	// expanded. OpenSearch counts the same way (indices.query.bool.max_clause_count).
	MaxClauses = 1024
)
