package httpapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Person is a person whom another handler of the same process has authenticated. Instead of a token value, the person uses an AccessToken
// that names the person, or a group of the person, in spec.subjects.
type Person struct {
	// User is the name of the person.
	User string
	// Group is the group of the person that Token names, or "" if Token names User.
	Group string
	// Token is the AccessToken.
	Token library.Owner
}

// subject returns the subject of the AccessToken that gives it to the person.
func (p Person) subject() library.Subject {
	if p.Group != "" {
		return library.Subject{Group: p.Group}
	}
	return library.Subject{User: p.User}
}

type personKey struct{}

// WithPerson returns a context for a request of a person. The request has the rights of the AccessToken, as long as the AccessToken is valid
// and names the person. Only code of this process can create such a context, so no caller can pretend to be a person.
func WithPerson(ctx context.Context, p Person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}

// PersonAccess returns the rights of a person, like Access.
func (s *Server) PersonAccess(ctx context.Context, p Person) (Access, bool, error) {
	return s.access(ctx, func(now time.Time) (grant, bool) { return s.tokens.findFor(p, now) })
}

// People returns a Person for each valid AccessToken that names a user or one of the groups of the user, ordered by the namespace and the
// name of the AccessToken.
func (s *Server) People(ctx context.Context, user string, groups []string) ([]Person, error) {
	if !s.Ready() {
		return nil, errNotLoaded
	}
	if err := s.current(ctx); err != nil {
		return nil, err
	}
	var all []Person
	for owner, g := range s.tokens.current.Load().ofPeople {
		i := slices.IndexFunc(g.rights.Subjects, func(of library.Subject) bool {
			return of.Group == "" && of.User == user || of.Group != "" && slices.Contains(groups, of.Group)
		})
		if i >= 0 && !g.expired(s.options.Clock()) {
			all = append(all, Person{User: user, Group: g.rights.Subjects[i].Group, Token: owner})
		}
	}
	slices.SortFunc(all, func(a, b Person) int { return strings.Compare(a.Token.String(), b.Token.String()) })
	return all, nil
}
