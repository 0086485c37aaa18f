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
		problems.InvalidParameter, problems.MissingParameter, problems.InvalidHeader, problems.InvalidBody, problems.SyntaxError, problems.QueryTooExpensive, problems.CursorUnusable, problems.TokensDiffer,
		problems.TokenRefused, problems.ClassRefused, problems.OriginRefused, problems.FieldPrivate, problems.Managed, problems.NotFound, problems.MethodNotAllowed, problems.Exists, problems.PreconditionFailed, problems.TooLarge,
		problems.Unacceptable, problems.RateLimited, problems.TooManyQueries, problems.Internal, problems.Maintenance, problems.Unavailable,
	} {
		all = append(all, t.Name)
	}
	return all
}

// MovedBetween exports movedBetween for tests.
var MovedBetween = movedBetween
