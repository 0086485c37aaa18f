// Package validate judges manifests without a cluster: as the API server would, by the schema and the rules of the
// CustomResourceDefinitions, and then as the controllers would, in the words of their conditions; each object by itself,
// and all of them against each other.
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
	"github.com/vitrine-dev/vitrine/server/query"
)

// The rules that findings name.
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
	// Rules of warnings are the codes of query warnings with this in front.
	ruleAdvice = "query-"
)

// Report is what was found.
type Report struct {
	// Objects is how many objects were judged.
	Objects  int       `json:"objects"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Findings []Finding `json:"findings"`
}

// Judged is an object that was read, with what its controller would make of it.
type Judged struct {
	manifest.Object
	// Typed is nil where the object cannot be read as its kind.
	Typed v1alpha1.Object
	// Judgement is what it means; Sound is false where there is an error about it, or would be if it were not suspended.
	Judgement verdict.Judgement
	Sound     bool
}

// name is the object as findings name it.
func (j Judged) name() string {
	return fmt.Sprintf("%s %s/%s", j.GetKind(), j.GetNamespace(), j.GetName())
}

// Ours tells an object that is to be judged from those of others: it is of our group, or it is of one of our kinds and its
// apiVersion is missing or lacks the version. Left out, such a one would pass, and be refused when it is applied.
func Ours(apiVersion, kind string) bool {
	switch apiVersion {
	case "", v1alpha1.GroupVersion.Group:
		return v1alpha1.NewObject(kind) != nil
	}
	return schema.FromAPIVersionAndKind(apiVersion, kind).Group == v1alpha1.GroupVersion.Group
}

// Run judges objects. Those without a namespace are taken to be for namespace.
func Run(ctx context.Context, objects []manifest.Object, problems []manifest.Problem, namespace string) (Report, []Judged, error) {
	schemas := newSchemas()
	r := Report{Objects: len(objects), Findings: []Finding{}}
	for _, p := range problems {
		r.Findings = append(r.Findings, at(p.Place, Finding{Severity: Error, Rule: RuleYAML, Message: p.Message}))
	}
	all := make([]Judged, len(objects))
	for i, o := range objects {
		if o.GetNamespace() == "" {
			o.SetNamespace(namespace)
		}
		j := Judged{Object: o}
		findings, err := schemas.judge(ctx, j)
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

// judge reads an object as its kind and asks its controller. Where the API server refuses it already, only what it did
// not say of a member is added.
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
	for _, w := range judgement.Warnings {
		findings = append(findings, j.advise(o, w))
	}
	if err == nil {
		return findings
	}
	member, message, rule := "", err.Error(), RuleSpec
	var refusal *verdict.Refusal
	if errors.As(err, &refusal) {
		rule = ruleOf(refusal.Reason)
		if refusal.Member != "" {
			member, message = refusal.Member, refusal.Problem
		}
	}
	if refused && (member == "" || slices.ContainsFunc(said, func(f Finding) bool { return f.Member == member })) {
		return findings
	}
	place := j.Value(cmp.Or(member, "spec"))
	if syntax := (*query.SyntaxError)(nil); errors.As(err, &syntax) {
		place, _ = j.Character(member, syntax.Position)
	}
	severity := Error
	if o.Suspended() {
		severity = Warning
		message += " (not checked in the cluster until spec.suspend is false)"
	}
	return append(findings, at(place, Finding{Severity: severity, Rule: rule, Object: j.name(), Member: member, Message: message}))
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

// finding is one about a member, where its value stands.
func (j Judged) finding(s Severity, rule, member, message string) Finding {
	return at(j.Value(member), Finding{Severity: s, Rule: rule, Object: j.name(), Member: member, Message: message})
}
