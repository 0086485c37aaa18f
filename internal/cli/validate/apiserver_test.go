package validate

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
)

// TestAgainstTheAPIServer checks that the findings about a manifest equal the errors of a real API server, including the messages.
func TestAgainstTheAPIServer(t *testing.T) {
	const variable = "KUBEBUILDER_ASSETS"
	if os.Getenv(variable) == "" {
		t.Fatalf("%s is not set: run `make test`, or set it to what `make -s assets` prints", variable)
	}
	cluster := &envtest.Environment{CRDDirectoryPaths: []string{"../../../config/crd/bases"}, ErrorIfCRDPathMissing: true}
	config, err := cluster.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	kube, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"testdata/taken.yaml", "testdata/refused.yaml", "../../../config/samples"} {
		files, err := manifest.Files([]string{file})
		if err != nil {
			t.Fatal(err)
		}
		objects, problems, err := manifest.Read(files, nil, Ours)
		if err != nil || len(problems) > 0 || len(objects) == 0 {
			t.Fatalf("%s: %d objects, problems %v, %v", file, len(objects), problems, err)
		}
		for _, o := range objects {
			t.Run(o.GetKind()+" "+o.GetName(), func(t *testing.T) {
				submitted := o.DeepCopy() // Run sets the name of an object that has only a generateName
				submitted.SetNamespace("shop")
				report, _, err := Run(t.Context(), []manifest.Object{o}, nil, "shop")
				if err != nil {
					t.Fatal(err)
				}
				create := func(validation string) error {
					return kube.Create(t.Context(), submitted.DeepCopy(), client.DryRunAll, client.FieldValidation(validation))
				}
				for _, f := range report.Findings {
					if f.Rule == RuleUnknownField && !strings.Contains(create("Strict").Error(), `unknown field "`+f.Member+`"`) {
						t.Errorf("the API server knows %s: %v", f.Member, create("Strict"))
					}
				}
				err = create("Ignore")
				want := slices.DeleteFunc(causes(t, err), func(cause string) bool {
					return submitted.GetName() == "" && strings.HasPrefix(cause, "metadata.name: Invalid") // contains random characters
				})
				if diff := cmp.Diff(want, said(report)); diff != "" {
					t.Errorf("-API server +ours:\n%s", diff)
				}
				if unknown := apierrors.IsBadRequest(create("Strict")); unknown && report.Errors == 0 {
					t.Errorf("accepted; the API server reports %v", create("Strict"))
				}
				if file == "testdata/refused.yaml" && report.Errors == 0 {
					t.Error("not refused")
				}
			})
		}
	}
}

// causes returns the errors in a response of the API server, each after the path of its member.
func causes(t *testing.T, err error) []string {
	t.Helper()
	var all []string
	var status *apierrors.StatusError
	if err == nil {
		return nil
	}
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		return []string{"metadata: malformed"} // the API server cannot decode the object
	}
	for _, c := range status.ErrStatus.Details.Causes {
		if c.Field != "<nil>" { // skip the cause that only reports that the rules were not checked, whose field is <nil>
			all = append(all, c.Field+": "+c.Message)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// said returns the findings that correspond to errors of the API server.
func said(r Report) []string {
	var all []string
	for _, f := range r.Findings {
		if f.Rule != RuleSchema {
			continue
		}
		if f.Member == "metadata" {
			return []string{"metadata: malformed"}
		}
		all = append(all, f.Member+": "+f.Message)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
