package query

// Limits of a query. A query that exceeds one of them causes a SyntaxError with Limit set.
const (
	// MaxLength is the maximum length of a query, in bytes.
	MaxLength = 16 << 10
	// MaxNesting is the maximum nesting depth of parentheses.
	MaxNesting = 200
	// MaxClauses is the maximum number of leaves in a query, both before and after the expansion of words, lists and field patterns.
	// OpenSearch counts in the same way (indices.query.bool.max_clause_count). All dynamic fields to which a field pattern expands count as
	// one leaf, so that the names in one item cannot make the query of another caller fail. MaxExpansion limits these fields.
	MaxClauses = 1024
	// MaxExpansion is the maximum total number of dynamic fields to which the field patterns of a query expand. It limits the memory and the
	// time of a query. A property has fewer dynamic fields (item.MaxFieldNames), so a query with one field pattern never exceeds it.
	MaxExpansion = 16_384
	// MaxStates is the maximum total number of states in the automata of all patterns of a query. automaton.MaxStates limits each automaton.
	// Without the total limit, a query could have a thousand patterns that each respect their own limit, and compiling them would take ten
	// seconds.
	MaxStates = 100_000
	// MaxEffort is the maximum total number of steps to compile the automata of all patterns of a query (see automaton.Effort). It is a count
	// and not a duration, so that every machine accepts the same queries. On usual machines, it corresponds to half a second and about 30 MiB.
	MaxEffort = 15_000_000

	// maxWarnings is the maximum number of warnings that one call of Parse or Check returns. It is low, because warnings appear in headers
	// and conditions.
	maxWarnings = 20
)
