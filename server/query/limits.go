package query

// These are the limits of a query. A query that exceeds one causes a SyntaxError with Limit set.
const (
	// MaxLength is the maximum length of a query, in bytes.
	MaxLength = 16 << 10
	// MaxNesting is the maximum nesting depth of parentheses.
	MaxNesting = 200
	// MaxClauses is the maximum number of leaves in a query. It applies before and after the expansion of words, lists and field patterns.
	// OpenSearch counts in the same way (indices.query.bool.max_clause_count).
	MaxClauses = 1024
	// MaxStates is the maximum total number of states in the automata of all patterns of a query. automaton.MaxStates limits each
	// automaton. Without this limit, a thousand patterns within their own limits take ten seconds to compile.
	MaxStates = 100_000
	// MaxEffort is the maximum total number of steps to compile these automata (see automaton.Effort). The limit is a count and not a
	// duration, so that the decision about a query does not depend on the machine. On usual machines, it corresponds to half a second and
	// about 30 MiB.
	MaxEffort = 15_000_000

	// maxWarnings is the maximum number of warnings that one call of Parse or Check returns. It is low, because warnings appear in headers
	// and conditions.
	maxWarnings = 20
)
