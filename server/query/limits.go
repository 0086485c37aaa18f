package query

// The limits of a query. Exceeding one is a SyntaxError with Limit set.
const (
	// MaxLength is the maximum length of a query, in bytes.
	MaxLength = 16 << 10
	// MaxNesting is the maximum nesting depth of parentheses.
	MaxNesting = 200
	// MaxClauses is the maximum number of leaves of a query, both before and after the expansion of words, lists and field
	// patterns. OpenSearch counts in the same way (indices.query.bool.max_clause_count).
	MaxClauses = 1024
	// MaxStates is the maximum total number of states of the automata of all patterns of a query; automaton.MaxStates
	// limits each of them. Without this limit, a thousand patterns within their own limits take ten seconds to compile.
	MaxStates = 100_000
	// MaxEffort is the maximum total number of steps, as automaton.Effort counts them, to compile these automata. It is a
	// count and not a time, so that a query is accepted or refused independently of the machine. On usual machines it
	// corresponds to half a second and about 30 MiB.
	MaxEffort = 15_000_000

	// maxWarnings is the maximum number of warnings that Parse and Check each return, because warnings appear in headers
	// and conditions.
	maxWarnings = 20
)
