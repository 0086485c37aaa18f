package validate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// together finds errors that involve two objects: an object that is defined twice, and two objects that claim the same thing. It reports
// the error for the object that loses. In a cluster, the older object wins a claim, but the ages of manifests are unknown. Therefore, the
// object whose name sorts first wins a claim that the library decides, and the object that is read first wins a duplicate name or Secret.
// together also warns about references to missing objects, and about READ-ONLY tokens that read all items.
func together(all []Judged) []Finding {
	var findings []Finding
	first := map[Ref]Judged{}
	var single []Judged
	for _, j := range all {
		if j.GetName() == "" {
			continue // a missing name is already reported as an error, and two missing names are no duplicate
		}
		if other, ok := first[j.Ref()]; ok {
			place := other.Value("metadata")
			findings = append(findings, at(j.Value("metadata.name"), Finding{
				Severity: Error, Rule: RuleDuplicate, Object: j.Ref(), Member: "metadata.name",
				Message: fmt.Sprintf("the object is defined twice, first at %s:%d", place.File, place.Line),
			}))
			continue
		}
		first[j.Ref()] = j
		if j.Sound {
			single = append(single, j)
		}
	}
	findings = append(findings, claims(single)...)
	findings = append(findings, secrets(single)...)
	findings = append(findings, unrestricted(single)...)
	return append(findings, references(all)...)
}

// admitLabelled makes every grant for labels permit all namespaces of the manifests, whose labels are unknown.
func admitLabelled(all []Judged) {
	var namespaces []string
	for _, j := range all {
		namespaces = append(namespaces, j.GetNamespace())
	}
	for _, j := range all {
		o, ok := j.Typed.(*v1alpha1.Property)
		if spec := j.Judgement.Definition.PropertySpec; ok && spec != nil {
			for i, g := range o.Spec.AllowFrom {
				if g.Namespaces.MatchLabels != nil {
					spec.Grants[i].Namespaces = namespaces
				}
			}
		}
	}
}

// unrestricted warns about READ-ONLY tokens that read all items of their Property. It says nothing about a token whose Property is not among
// the manifests, because that Property may set readOnlyQuery.
func unrestricted(all []Judged) []Finding {
	properties := map[library.PropertyID]*library.Property{}
	for _, j := range all {
		if d := j.Judgement.Definition; d.PropertySpec != nil {
			properties[d.Property] = d.PropertySpec
		}
	}
	var findings []Finding
	for _, j := range all {
		d := j.Judgement.Definition
		p := properties[d.Property]
		if p != nil && d.Token != nil && !d.Token.ReadWrite && verdict.ScopeOf(d.Token, p.ReadOnlyQuery) == v1alpha1.ScopeAllItems {
			findings = append(findings, j.finding(Warning, RuleUnrestricted, "spec.class", verdict.Unrestricted(j.Typed.PropertyName())))
		}
	}
	return findings
}

// references warns about references to a Property or a ContentFilter that the manifests do not contain, for example because kustomize has
// added a prefix to the names. It ignores references to kinds of which the manifests contain no object in the namespace, because these
// objects are probably in other files. It also ignores references to Secrets, which other tools create.
func references(all []Judged) []Finding {
	there := map[Ref]bool{}
	for _, j := range all {
		there[Ref{Kind: j.GetKind(), Namespace: j.GetNamespace()}] = true
		there[j.Ref()] = true
	}
	var findings []Finding
	check := func(j Judged, kind, name, member, cure string) {
		of := Ref{Kind: kind, Namespace: j.Typed.PropertyNamespace()}
		to := Ref{kind, j.Typed.PropertyNamespace(), name}
		if !there[of] || there[to] {
			return
		}
		findings = append(findings, j.finding(Warning, RuleReference, member,
			fmt.Sprintf("the manifests contain no %s, but other objects of this kind in that namespace: %s", to, cure)))
	}
	for _, j := range all {
		if j.Typed == nil {
			continue
		}
		check(j, v1alpha1.PropertyKind, j.Typed.PropertyName(), "spec.propertyRef.name", "correct or set spec.propertyRef")
		switch o := j.Typed.(type) {
		case *v1alpha1.AccessToken:
			for i, name := range o.Spec.Filters {
				check(j, v1alpha1.ContentFilterKind, name, fmt.Sprintf("spec.filters[%d]", i), "correct the name, which grants nothing until the ContentFilter exists")
			}
		case *v1alpha1.Webhook:
			if ref := o.Spec.FilterRef; ref != nil {
				check(j, v1alpha1.ContentFilterKind, ref.Name, "spec.filterRef.name", "correct the name, because nothing is sent until the ContentFilter exists")
			}
		}
	}
	return findings
}

// claims lets the library decide which definitions win their claims, as in a cluster without other objects. It assumes that the properties
// to which definitions refer, and the filters that definitions adopt, exist even if no manifest declares them, and that such a property admits
// all definitions.
func claims(all []Judged) []Finding {
	var candidates []library.Candidate
	everything := library.Grant{ReadOnly: true, ReadWrite: true}
	for _, k := range library.Kinds() {
		everything.Kinds = append(everything.Kinds, k.String())
	}
	for _, j := range all {
		candidates = append(candidates, library.Candidate{Latest: j.Judgement.Definition})
		everything.Namespaces = append(everything.Namespaces, j.GetNamespace())
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
				PropertySpec: &library.Property{PlatformPageID: library.PlatformPageID(d.Property), Grants: []library.Grant{everything}},
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
		if i < len(all) && errors.Is(v.Err, library.ErrNoProperty) {
			findings = append(findings, all[i].finding(Error, RuleGrant, "spec.propertyRef.namespace", fmt.Sprintf(
				"the Property %s does not permit this object: add namespace %s and kind %s to its spec.allowFrom",
				all[i].Judgement.Definition.Property, all[i].GetNamespace(), all[i].GetKind())))
		} else if i < len(all) && v.Err != nil {
			message := verdict.Refuse(all[i].Typed, v.Err).Error()
			findings = append(findings, all[i].finding(Error, RuleClaim, claimMember(all[i].Judgement.Definition), message))
		}
	}
	return findings
}

// claimMember returns the path of the member with which a definition claims something, or "" if it claims nothing.
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

// secrets finds objects that write the same Secret, and AccessTokens that read the same value. Several Webhooks can read the same value.
func secrets(all []Judged) []Finding {
	var findings []Finding
	writers, readers := map[string]Judged{}, map[string]Judged{}
	for _, j := range all {
		holders, name, value, member := writers, "", "", "spec.secretName"
		switch o := j.Typed.(type) {
		case *v1alpha1.AccessToken:
			name = tokens.SecretName(o)
			if existing := o.Spec.ExistingSecret; existing != nil {
				holders, value, member = readers, "/"+existing.Key, "spec.existingSecret.name"
			}
		case *v1alpha1.Webhook:
			if o.Spec.ExistingSecret != nil {
				continue
			}
			name, member = tokens.KeysName(o), "metadata.name"
		default:
			continue
		}
		key := j.GetNamespace() + "/" + name + value
		other, taken := holders[key]
		if !taken {
			holders[key] = j
			continue
		}
		findings = append(findings, j.finding(Error, RuleClaim, member,
			fmt.Sprintf("Secret %s/%s is held by %s: change or delete one of the two objects", j.GetNamespace(), name, other.Ref())))
	}
	return append(findings, written(all, writers)...)
}

// written finds AccessTokens that read the value that another AccessToken writes. The value belongs to the AccessToken that writes it.
// writers maps the namespace/name of a Secret to the object that writes it.
func written(all []Judged, writers map[string]Judged) []Finding {
	var findings []Finding
	for _, j := range all {
		token, ok := j.Typed.(*v1alpha1.AccessToken)
		if !ok || token.Spec.ExistingSecret == nil || token.Spec.ExistingSecret.Key != tokens.ValueKey {
			continue
		}
		name := tokens.SecretName(token)
		if writer, ok := writers[token.Namespace+"/"+name]; ok && writer.GetKind() == v1alpha1.AccessTokenKind {
			findings = append(findings, j.finding(Error, RuleClaim, "spec.existingSecret.name",
				fmt.Sprintf("%s writes Secret %s/%s and owns its value: choose another Secret", writer.Ref(), token.Namespace, name)))
		}
	}
	return findings
}
