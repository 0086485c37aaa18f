// Package validate checks manifests without a cluster. It first makes the checks of the API server, with the schemas and rules of the
// CustomResourceDefinitions. It then makes the checks of the controllers, and reports errors with the messages of the objects' conditions.
// Finally, it checks all objects together.
//
// It may import manifest, config/crd, api, controllers/translate, controllers/verdict, and the domain.
package validate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Rules of findings.
const (
	RuleYAML         = "yaml"
	RuleUnknownKind  = "unknown-kind"
	RuleUnknownField = "unknown-field"
	RuleSchema       = "schema"
	RuleQuery        = "query"
	RuleSort         = "sort"
	RuleSpec         = "spec"
	RuleDuplicate    = "duplicate"
	RuleClaim        = "claim"
	RuleReference    = "reference"
	RuleUnrestricted = "unrestricted"
	RuleSubjects     = "subjects"
	RuleGrant        = "grant"
	RuleAnnotation   = "annotation"
	// ruleAdvice is the prefix of the rules of warnings about queries. It is followed by the code of the warning.
	ruleAdvice = "query-"
)

// Report is the result of a validation.
type Report struct {
	// Objects is the number of checked objects.
	Objects  int       `json:"objects"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Findings []Finding `json:"findings"`
}

// Judged is an object of a manifest, with the judgement of its controller.
type Judged struct {
	manifest.Object
	// Typed is the decoded object, or nil if it cannot be decoded as its kind.
	Typed v1alpha1.Object
	// Judgement is the judgement of the controller. Sound is false if the object has an error, or would have an error if it were not
	// suspended.
	Judgement verdict.Judgement
	Sound     bool
	// generated is true if the manifest has only a generateName, so that the name is that of generatedNames.
	generated bool
}

// Ref returns the name of the object.
func (j Judged) Ref() Ref { return Ref{j.GetKind(), j.GetNamespace(), j.GetName()} }

// Owner returns the owner of the object's definition. install is the identity of the cluster.
func (j Judged) Owner(install string) library.Owner {
	return library.Owner{Install: install, Kind: library.KindNamed(j.GetKind()), Namespace: j.GetNamespace(), Name: j.GetName()}
}

// Ours reports whether an object must be checked. It returns true if the object belongs to Vitrine's API group. It also returns true if
// only the kind is from this group and the apiVersion is missing or has no version: the API server would reject such an object, so the
// check must report it.
func Ours(apiVersion, kind string) bool {
	switch apiVersion {
	case "", v1alpha1.GroupVersion.Group:
		return v1alpha1.NewObject(kind) != nil
	}
	return schema.FromAPIVersionAndKind(apiVersion, kind).Group == v1alpha1.GroupVersion.Group
}

// generatedNames gives names to the objects that have only a generateName.
type generatedNames struct {
	// taken contains all objects with a name.
	taken map[Ref]bool
	// last contains the last number of each generateName.
	last map[Ref]int
}

// set sets the name of an object that has only a generateName, as the API server does when it creates the object, and returns true. Instead
// of random characters, it appends a number, so that the name stays the same as long as the manifests do.
func (g generatedNames) set(o manifest.Object) bool {
	const longest, digits = 63, 5 // as in the API server
	prefix := o.GetGenerateName()
	if o.GetName() != "" || prefix == "" {
		return false
	}
	of := Ref{o.GetKind(), o.GetNamespace(), prefix}
	made := of
	for made == of || g.taken[made] {
		g.last[of]++
		made.Name = fmt.Sprintf("%s%0*d", prefix[:min(len(prefix), longest-digits)], digits, g.last[of])
	}
	g.taken[made] = true
	o.SetName(made.Name)
	return true
}

// Run checks objects. In an object without a namespace, it sets the given namespace. In an object with only a generateName, it sets a name.
func Run(ctx context.Context, objects []manifest.Object, problems []manifest.Problem, namespace string) (Report, []Judged, error) {
	r := Report{Objects: len(objects), Findings: []Finding{}}
	for _, p := range problems {
		r.Findings = append(r.Findings, at(p.Place, Finding{Severity: Error, Rule: RuleYAML, Message: p.Message}))
	}
	all := make([]Judged, len(objects))
	names := generatedNames{map[Ref]bool{}, map[Ref]int{}}
	for _, o := range objects {
		if o.GetNamespace() == "" {
			o.SetNamespace(namespace)
		}
		names.taken[Judged{Object: o}.Ref()] = true
	}
	for i, o := range objects {
		j := Judged{Object: o, generated: names.set(o)}
		findings, err := j.bySchema(ctx)
		if err != nil {
			return r, nil, err
		}
		refused := slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == Error })
		own := j.judge(refused, findings)
		findings = append(findings, own...)
		j.Sound = j.Sound && !slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == Error })
		r.Findings = append(r.Findings, findings...)
		all[i] = j
	}
	admitLabelled(all)
	r.Findings = append(r.Findings, together(all)...)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	for _, f := range r.Findings {
		if f.Severity == Error {
			r.Errors++
		} else {
			r.Warnings++
		}
	}
	return r, all, nil
}

// judge decodes an object as its kind, and records the judgement of its controller. refused means that the API server rejects the object
// with the findings said. In that case, judge adds only findings about other members.
func (j *Judged) judge(refused bool, said []Finding) []Finding {
	o := v1alpha1.NewObject(j.GetKind())
	if o == nil {
		return nil
	}
	text, err := json.Marshal(j.Object.Object)
	if err == nil {
		err = json.Unmarshal(text, o)
	}
	if err != nil {
		if refused {
			return nil
		}
		return []Finding{j.finding(Error, RuleSchema, "", err.Error())}
	}
	j.Typed = o
	judgement, err := verdict.Judge(o)
	j.Judgement, j.Sound = judgement, err == nil
	var findings []Finding
	if _, err := v1alpha1.SourcePath(o.GetAnnotations()); err != nil {
		findings = append(findings, j.finding(Warning, RuleAnnotation, "metadata.annotations["+v1alpha1.SourcePathAnnotation+"]", err.Error()))
	}
	for _, w := range judgement.Warnings {
		findings = append(findings, j.advise(o, w))
	}
	if err == nil {
		return findings
	}
	f := j.refused(err)
	if refused && (f.Member == "" || slices.ContainsFunc(said, func(other Finding) bool { return other.Member == f.Member })) {
		return findings
	}
	if o.Suspended() {
		f.Severity = Warning
		f.Message += " (in the cluster, the operator does not check this while spec.suspend is true)"
	}
	return append(findings, f)
}

// refused returns the finding for an error. If the error contains a *verdict.Refusal, the finding points to the member that the refusal
// names.
func (j Judged) refused(err error) Finding {
	f := Finding{Severity: Error, Rule: RuleSpec, Object: j.Ref(), Message: err.Error()}
	var refusal *verdict.Refusal
	if errors.As(err, &refusal) {
		f.Rule = ruleOf(refusal.Reason)
		if refusal.Member != "" {
			f.Member, f.Message = refusal.Member, refusal.Problem
		}
	}
	place := j.Value(cmp.Or(f.Member, "spec"))
	if syntax := (*query.SyntaxError)(nil); errors.As(err, &syntax) {
		place, _ = j.Character(f.Member, syntax.Position)
	}
	return at(place, f)
}

// Refuse adds an error of the library about an object to the report, with the message that the object's conditions would have. It adds
// nothing if the report already contains an error about the object.
func (r *Report) Refuse(j Judged, err error) {
	for _, f := range r.Findings {
		if f.Severity == Error && f.Object == j.Ref() {
			return
		}
	}
	r.Findings = append(r.Findings, j.refused(verdict.Refuse(j.Typed, err)))
	r.Errors++
}

// WarnSubjects adds a warning about each AccessToken with subjects. It is for a server without an identity provider.
func (r *Report) WarnSubjects(all []Judged) {
	for _, j := range all {
		if t := j.Judgement.Definition.Token; t != nil && len(t.Subjects) > 0 {
			r.Findings = append(r.Findings, j.finding(Warning, RuleSubjects, "spec.subjects", verdict.SubjectsUnused))
			r.Warnings++
		}
	}
}

func ruleOf(reason string) string {
	switch reason {
	case v1alpha1.ReasonInvalidQuery:
		return RuleQuery
	case v1alpha1.ReasonInvalidSort:
		return RuleSort
	}
	return RuleSpec
}

// finding returns a finding about a member, at the place of its value.
func (j Judged) finding(s Severity, rule, member, message string) Finding {
	return at(j.Value(member), Finding{Severity: s, Rule: rule, Object: j.Ref(), Member: member, Message: message})
}
