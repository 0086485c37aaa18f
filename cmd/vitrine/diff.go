package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/filterdiff"
	"github.com/vitrine-dev/vitrine/internal/cli/validate"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/client"
)

type diffOptions struct {
	connection connect.Connection
	manifests  manifests
	property   string
	items      int
	output     string
}

func newDiff() *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff -f FILE|DIR|-",
		Short: "Show in Markdown how the ContentFilters in manifests differ from the served filters",
		Long: `For each ContentFilter in the manifests, show in Markdown which items it would add to the served filter, and which items it would
remove. The command changes nothing. It needs a READ-WRITE token of the filters' property.`,
		Example: example(`
# Comment on a pull request
vitrine diff -f deploy/ | gh pr comment --body-file -

# For each filter, list up to 50 added items and up to 50 removed items
vitrine diff -f deploy/ --items 50`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.connection.Bind(cmd.Flags())
	o.manifests.bind(cmd.Flags())
	cmd.Flags().StringVar(&o.property, "property", "", "NAMESPACE/NAME of the token's property, required if the manifests have filters of several properties")
	cmd.Flags().IntVar(&o.items, "items", 5, "for each filter, maximum number of added items to list, and of removed items, 0 to 500")
	cmd.Flags().StringVarP(&o.output, "output", "o", "markdown", "output format: markdown or json")
	return cmd
}

func (o *diffOptions) run(cmd *cobra.Command) error {
	if o.output != "markdown" && o.output != "json" {
		return exit.Usagef("--output %q: must be markdown or json", o.output)
	}
	if o.items < 0 || o.items > 500 {
		return exit.Usagef("--items %d: must be 0 to 500", o.items)
	}
	report, judged, err := o.manifests.judge(cmd)
	if err != nil {
		return err
	}
	if report.Errors > 0 {
		validate.Text(cmd.ErrOrStderr(), report.Findings)
		return exit.With(exit.Manifests, fmt.Errorf("the manifests have errors (%s): correct them first", tally(report)))
	}
	filters, err := o.filters(judged)
	if err != nil {
		return err
	}
	c, err := o.connection.Open()
	if err != nil {
		return err
	}
	if err := checkProperty(cmd.Context(), c, filters); err != nil {
		return err
	}
	changes, failed := []filterdiff.Change{}, 0
	for _, j := range filters {
		d := j.Judgement.Definition
		if j.Typed.Suspended() {
			changes = append(changes, filterdiff.Change{Filter: d.Owner.Namespace + "/" + d.Owner.Name, State: filterdiff.Suspended})
			continue
		}
		change, err := filterdiff.Compare(cmd.Context(), c, d, o.items)
		if err != nil {
			return err
		}
		if change.State == filterdiff.Failed {
			failed++
		}
		changes = append(changes, change)
	}
	if o.output == "json" {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(changes); err != nil {
			return fmt.Errorf("write the changes: %w", err)
		}
	} else {
		filterdiff.Markdown(cmd.OutOrStdout(), changes)
	}
	if failed > 0 {
		return fmt.Errorf("%s could not be compared", text.Plural(failed, "filter"))
	}
	return nil
}

// checkProperty returns an error if the token is not READ-WRITE, or if the token and the filters belong to different properties.
func checkProperty(ctx context.Context, c *client.Client, filters []validate.Judged) error {
	if len(filters) == 0 {
		return nil
	}
	served, err := c.Property(ctx)
	if err != nil {
		return err
	}
	if want := string(filters[0].Judgement.Definition.Property); served != want {
		return fmt.Errorf("the access token belongs to property %s, and the ContentFilters to %s: use a READ-WRITE token of %s, "+
			"or name another property with --property", served, want, want)
	}
	return nil
}

// filters returns the ContentFilters of one property, sorted by name. The property is the one in --property or, without this flag, the only
// property in the manifests.
func (o *diffOptions) filters(judged []validate.Judged) ([]validate.Judged, error) {
	byProperty := map[string][]validate.Judged{}
	for _, j := range judged {
		if d := j.Judgement.Definition; d.Filter != nil {
			byProperty[string(d.Property)] = append(byProperty[string(d.Property)], j)
		}
	}
	if o.property == "" && len(byProperty) > 1 {
		return nil, exit.Usagef("the manifests have filters of several properties (%s), but a token belongs to one property: name that property with --property",
			strings.Join(slices.Sorted(maps.Keys(byProperty)), ", "))
	}
	for property, filters := range byProperty {
		if o.property == "" || o.property == property {
			slices.SortFunc(filters, func(a, b validate.Judged) int { return strings.Compare(a.GetName(), b.GetName()) })
			return filters, nil
		}
	}
	if o.property != "" {
		return nil, fmt.Errorf("the manifests have no ContentFilter of property %s: check -f and --property", o.property)
	}
	return nil, nil
}
