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
	// MaxStates is the number of states that the automata of all patterns of a query may have together; each alone is
	// bounded by automaton.MaxStates. Without it a thousand patterns, each within its limit, take ten seconds to compile.
	MaxStates = 100_000
	// MaxEffort is the number of steps, as automaton.Effort counts them, that making these automata may take together. It is
	// a count, so that the same query is refused at any speed: on usual machines it stands for half a second, and some 30 MiB.
	MaxEffort = 15_000_000

	// maxWarnings is how many warnings Parse and Check give each: they go into headers and conditions.
	maxWarnings = 20
)
