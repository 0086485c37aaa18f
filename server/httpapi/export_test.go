package httpapi

import "github.com/vitrine-dev/vitrine/server/problems"

// Routes returns the method and path of every endpoint, for the comparison with openapi.json.
func Routes() [][2]string {
	var all [][2]string
	for _, r := range routes() {
		all = append(all, [2]string{r.method, r.path})
	}
	return all
}

// ProblemTypes returns the last segments of all problem type URIs.
func ProblemTypes() []string {
	var all []string
	for _, t := range []problems.Type{
		invalidParameter, missingParameter, invalidHeader, invalidBody, syntaxError, queryTooExpensive, cursorUnusable, tokensDiffer,
		tokenRefused, classRefused, originRefused, fieldPrivate, managed, notFound, methodNotAllowed, exists, preconditionFailed, tooLarge,
		unacceptable, rateLimited, tooManyQueries, internal, maintenance, unavailable,
	} {
		all = append(all, t.Name)
	}
	return all
}

// MovedBetween exports movedBetween for tests.
var MovedBetween = movedBetween
