package validate

import (
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// together finds what is wrong with objects only because of each other: one that is given twice, and two that claim one
// thing. Who would win is not known without a cluster, where the older one does; the finding is at the one whose name is
// later.
func together(all []Judged) []Finding {
	var findings []Finding
	first := map[string]Judged{}
	var single []Judged
	for _, j := range all {
		if j.GetName() == "" {
			continue // which is told already: it is nobody's double
		}
		if other, ok := first[j.name()]; ok {
			place := other.Value("metadata")
			findings = append(findings, at(j.Value("metadata.name"), Finding{
				Severity: Error, Rule: RuleDuplicate, Object: j.name(), Member: "metadata.name",
				Message: fmt.Sprintf("the object is defined twice, first at %s:%d", place.File, place.Line),
			}))
			continue
		}
		first[j.name()] = j
		if j.Sound {
			single = append(single, j)
		}
	}
	findings = append(findings, claims(single)...)
	return append(findings, secrets(single)...)
}

// claims lets the library decide between the definitions, as it would in a cluster that holds nothing else. Properties and
// filters made over HTTP that the definitions rely on are taken to be there.
func claims(all []Judged) []Finding {
	var candidates []library.Candidate
	for _, j := range all {
		candidates = append(candidates, library.Candidate{Latest: j.Judgement.Definition})
	}
	there := map[string]bool{}
	for _, j := range all {
		d := j.Judgement.Definition
		if d.PropertySpec != nil {
			there[string(d.Property)] = true
		}
	}
	for _, j := range all {
		d := j.Judgement.Definition
		if !there[string(d.Property)] {
			there[string(d.Property)] = true
			namespace, name, _ := strings.Cut(string(d.Property), "/")
			candidates = append(candidates, library.Candidate{Latest: library.Definition{
				Property: d.Property, Owner: library.Owner{Kind: library.KindProperty, Namespace: namespace, Name: name},
				PropertySpec: &library.Property{PlatformPageID: library.PlatformPageID(d.Property)},
			}})
		}
		if d.Filter == nil || !d.Filter.Adopt {
			continue
		}
		if key := fmt.Sprintf("%s %d", d.Property, d.Filter.ID); !there[key] {
			there[key] = true
			made := *d.Filter
			made.Adopt, made.UUID = false, key
			candidates = append(candidates, library.Candidate{Latest: library.Definition{Property: d.Property, Filter: &made}})
		}
	}
	var findings []Finding
	for i, v := range library.Arbitrate(candidates) {
		if i < len(all) && v.Err != nil {
			message := verdict.Refuse(all[i].Typed, v.Err).Error()
			findings = append(findings, all[i].finding(Error, RuleClaim, claimMember(all[i].Judgement.Definition), message))
		}
	}
	return findings
}

// claimMember is the member by which a definition claims something that another one may claim too.
func claimMember(d library.Definition) string {
	switch {
	case d.Filter != nil && d.Filter.Adopt:
		return "spec.adopt.filterID"
	case d.Tag != nil:
		return "spec.key"
	case d.Unit != nil:
		return "spec.default"
	}
	return ""
}

// secrets finds AccessTokens that write one Secret, and those that read one value.
func secrets(all []Judged) []Finding {
	var findings []Finding
	writers, readers := map[string]Judged{}, map[string]Judged{}
	for _, j := range all {
		token, ok := j.Typed.(*v1alpha1.AccessToken)
		if !ok {
			continue
		}
		holders, member := writers, "spec.secretName"
		name := tokens.SecretName(token)
		key := token.Namespace + "/" + name
		if existing := token.Spec.ExistingSecret; existing != nil {
			holders, member = readers, "spec.existingSecret.name"
			key += "/" + existing.Key
		}
		other, taken := holders[key]
		if !taken {
			holders[key] = j
			continue
		}
		owner := translate.Owner("", library.KindToken, other.Typed)
		findings = append(findings, j.finding(Error, RuleClaim, member,
			fmt.Sprintf("Change or delete one of the two objects: Secret %s/%s is held by %s", token.Namespace, name, owner)))
	}
	return append(findings, written(all, writers)...)
}

// written finds AccessTokens that read the value which another AccessToken writes: it belongs to that one. writers are those, by
// the namespace and the name of their Secrets.
func written(all []Judged, writers map[string]Judged) []Finding {
	var findings []Finding
	for _, j := range all {
		token, ok := j.Typed.(*v1alpha1.AccessToken)
		if !ok || token.Spec.ExistingSecret == nil || token.Spec.ExistingSecret.Key != tokens.ValueKey {
			continue
		}
		name := tokens.SecretName(token)
		if writer, ok := writers[token.Namespace+"/"+name]; ok {
			owner := translate.Owner("", library.KindToken, writer.Typed)
			findings = append(findings, j.finding(Error, RuleClaim, "spec.existingSecret.name",
				fmt.Sprintf("Name another Secret: %s writes Secret %s/%s, and its value belongs to it", owner, token.Namespace, name)))
		}
	}
	return findings
}
