package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
	"github.com/vitrine-dev/vitrine/internal/cli/validate"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
)

// manifests selects the manifests that a command reads.
type manifests struct {
	paths     []string
	namespace string
}

func (m *manifests) bind(fs *pflag.FlagSet) {
	fs.StringSliceVarP(&m.paths, "filename", "f", nil, "file, directory (all *.yaml, *.yml and *.json files below it) or - for standard input; repeatable")
	fs.StringVarP(&m.namespace, "namespace", "n", "default", "namespace for manifests that do not specify one")
}

// judge reads and validates the manifests.
func (m *manifests) judge(cmd *cobra.Command) (validate.Report, []validate.Judged, error) {
	if len(m.paths) == 0 {
		return validate.Report{}, nil, exit.Usagef("no manifests: name files or directories with -f")
	}
	if err := checkNamespace(m.namespace); err != nil {
		return validate.Report{}, nil, err
	}
	files, err := manifest.Files(m.paths)
	if err != nil {
		return validate.Report{}, nil, err
	}
	objects, problems, err := manifest.Read(files, cmd.InOrStdin(), validate.Ours)
	if err != nil {
		return validate.Report{}, nil, err
	}
	report, judged, err := validate.Run(cmd.Context(), objects, problems, m.namespace)
	if err == nil && report.Objects+report.Errors == 0 {
		// Return an error if there is nothing to validate: in a CI pipeline, the cause is usually a wrong path, which must not look like
		// success.
		err = fmt.Errorf("no manifest of the API group %s in %s: check -f", v1alpha1.GroupVersion.Group, text.Plural(len(files), "file"))
	}
	return report, judged, err
}

// checkNamespace returns an error if the value of --namespace is not a valid name.
func checkNamespace(name string) error {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return exit.Usagef("--namespace %q: must be the name of a namespace", name)
	}
	return nil
}

type validateOptions struct {
	manifests manifests
	output    string
	strict    bool
}

func newValidate() *cobra.Command {
	o := &validateOptions{}
	cmd := &cobra.Command{
		Use:   "validate -f FILE|DIR|-",
		Short: "Validate manifests without a cluster: schema, rules, queries, duplicates, conflicts",
		Long: `Check manifests without a cluster: each object as the API server would (schema and rules), then as its controller would
(queries, sort orders, selectors), and finally all objects together (duplicates, and two objects that claim the same thing).

If there are errors, the exit code is 7. The command cannot check whether a Property or a Secret exists.`,
		Example: example(`
# Check a directory
vitrine validate -f deploy/

# Check what kustomize renders
kustomize build deploy | vitrine validate -f -

# Annotate the lines of a pull request
vitrine validate -f deploy/ -o github`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.manifests.bind(cmd.Flags())
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "output format: text, json, or github (annotations in a pull request)")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "fail on warnings too")
	return cmd
}

func (o *validateOptions) run(cmd *cobra.Command) error {
	var show func(io.Writer, validate.Report) error
	switch o.output {
	case "text":
		show = func(w io.Writer, r validate.Report) error {
			validate.Text(w, r.Findings)
			fmt.Fprintln(w, tally(r))
			return nil
		}
	case "json":
		show = validate.JSON
	case "github":
		show = func(w io.Writer, r validate.Report) error {
			validate.GitHub(w, r.Findings)
			return nil
		}
	default:
		return exit.Usagef("--output %q: must be text, json or github", o.output)
	}
	report, _, err := o.manifests.judge(cmd)
	if err != nil {
		return err
	}
	if err := show(cmd.OutOrStdout(), report); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if report.Errors > 0 || o.strict && report.Warnings > 0 {
		return exit.With(exit.Manifests, fmt.Errorf("the manifests have problems: %s", tally(report)))
	}
	return nil
}

// tally returns a summary of a report in one line.
func tally(r validate.Report) string {
	return fmt.Sprintf("%s, %s, %s", text.Plural(r.Objects, "object"), text.Plural(r.Errors, "error"), text.Plural(r.Warnings, "warning"))
}
