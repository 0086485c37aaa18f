package permissions

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Grant is the permission for one verb on one resource, such as "patch tags/status.vitrine.dev". A resource of the core group has no group
// suffix. If the grant is limited to an object, the object's name follows after a space.
type Grant string

func grant(verb, resource, group string) Grant {
	if group != "" {
		resource += "." + group
	}
	return Grant(verb + " " + resource)
}

// Expand returns the grants of the rules in order, without duplicates. A wildcard is an error, because a test could not determine which
// permissions of the wildcard are necessary.
func Expand(rules []rbacv1.PolicyRule) ([]Grant, error) {
	var out []Grant
	for _, r := range rules {
		if len(r.NonResourceURLs) > 0 || slices.Contains(slices.Concat(r.Verbs, r.Resources, r.APIGroups), "*") {
			return nil, fmt.Errorf("the rule %v has a wildcard or a URL, which cannot be compared with calls", r)
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					g := grant(verb, resource, group)
					if len(r.ResourceNames) == 0 {
						out = append(out, g)
					}
					for _, name := range r.ResourceNames {
						out = append(out, g+Grant(" "+name))
					}
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
