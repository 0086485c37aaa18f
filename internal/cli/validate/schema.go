package validate

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/config/crd"
)

// schemas returns the validation of each kind. It reads the CustomResourceDefinitions on the first call, which takes about 0.1 s.
var schemas = sync.OnceValues(loadSchemas)

// kindSchema is the validation of one CustomResourceDefinition.
type kindSchema struct {
	structural *structuralschema.Structural
	values     validation.SchemaValidator
	rules      *cel.Validator // nil if the schema contains no rules
}

func loadSchemas() (map[string]*kindSchema, error) {
	files, err := fs.Glob(crd.Bases, "bases/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the definitions: %w", err)
	}
	byKind := map[string]*kindSchema{}
	for _, name := range files {
		text, err := crd.Bases.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read a definition: %w", err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definition); err != nil {
			return nil, fmt.Errorf("read the definition %s: %w", name, err)
		}
		for _, version := range definition.Spec.Versions {
			if version.Name != v1alpha1.GroupVersion.Version {
				continue
			}
			k, err := newKindSchema(version.Schema)
			if err != nil {
				return nil, fmt.Errorf("use the definition %s: %w", name, err)
			}
			byKind[definition.Spec.Names.Kind] = k
		}
	}
	return byKind, nil
}

func newKindSchema(v1 *apiextensionsv1.CustomResourceValidation) (*kindSchema, error) {
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v1, internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	values, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	return &kindSchema{structural: structural, values: values, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// bySchema returns the errors that the API server would report if a user created the object. It makes the checks with the libraries of the
// API server, and in the same order.
func (j Judged) bySchema(ctx context.Context) ([]Finding, error) {
	byKind, err := schemas()
	if err != nil {
		return nil, err
	}
	k := byKind[j.GetKind()]
	switch {
	case j.GetKind() == "":
		return []Finding{j.finding(Error, RuleUnknownKind, "kind", "required: must be one of the kinds of "+v1alpha1.GroupVersion.String())}, nil
	case k == nil:
		return []Finding{j.finding(Error, RuleUnknownKind, "kind", fmt.Sprintf("there is no kind %q in %s", j.GetKind(), v1alpha1.GroupVersion))}, nil
	case j.GetAPIVersion() != v1alpha1.GroupVersion.String():
		return []Finding{j.finding(Error, RuleUnknownKind, "apiVersion", fmt.Sprintf("must be %s", v1alpha1.GroupVersion))}, nil
	}
	content := runtime.DeepCopyJSON(j.Object.Object)
	var findings []Finding
	for _, path := range k.unknown(content) {
		findings = append(findings, at(j.Key(path), Finding{
			Severity: Error, Rule: RuleUnknownField, Object: j.Ref(), Member: path, Message: "unknown field",
		}))
	}
	// The API server ignores the status in a create request.
	delete(content, "status")
	for _, e := range k.errors(ctx, content) {
		member := e.Field
		if j.generated && member == "metadata.name" {
			continue // the error is in generateName, and already reported
		}
		if member == "<nil>" {
			member = ""
		}
		findings = append(findings, j.finding(Error, RuleSchema, member, e.ErrorBody()))
	}
	return findings, nil
}

// unknown removes the fields that are not in the schema, and returns their paths.
func (k *kindSchema) unknown(content map[string]any) []string {
	paths := pruning.PruneWithOptions(content, k.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	_, _, inMetadata, err := objectmeta.GetObjectMetaWithOptions(content, objectmeta.ObjectMetaOptions{
		DropMalformedFields: true, ReturnUnknownFieldPaths: true,
	})
	if err == nil {
		paths = append(paths, inMetadata...)
	}
	for i, p := range paths {
		paths[i] = strings.TrimPrefix(p, ".")
	}
	return paths
}

// errors returns the errors of a create request, in the order of the API server's checks.
func (k *kindSchema) errors(ctx context.Context, content map[string]any) field.ErrorList {
	meta, _, _, err := objectmeta.GetObjectMetaWithOptions(content, objectmeta.ObjectMetaOptions{})
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("metadata"), nil, err.Error())}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(content, k.structural)
	defaulting.Default(content, k.structural)
	var errs field.ErrorList
	if meta != nil {
		errs = metavalidation.ValidateObjectMeta(meta, true, metavalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	} else {
		errs = field.ErrorList{field.Required(field.NewPath("metadata"), "")}
	}
	errs = append(errs, validation.ValidateCustomResource(nil, content, k.values)...)
	errs = append(errs, objectmeta.Validate(ctx, nil, content, k.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, content)...)
	if k.rules == nil || blocking(errs) {
		return errs
	}
	broken, _ := k.rules.Validate(ctx, nil, k.structural, content, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, broken...)
}

// blocking reports whether errors prevent the CEL rules from running, because the rules rely on the types and limits in the schema.
func blocking(errs field.ErrorList) bool {
	for _, e := range errs {
		switch e.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
