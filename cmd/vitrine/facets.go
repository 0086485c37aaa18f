package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

type facetsOptions struct {
	connection connect.Connection
	output     output.Format
	count      client.FacetQuery
}

func newFacets() *cobra.Command {
	o := &facetsOptions{}
	cmd := &cobra.Command{
		Use:   "facets FIELD",
		Short: "List the most frequent values of a field, and count their items",
		Long: `List the most frequent values of a field, each with the exact number of items that have it. The command counts all items of the
token's property, or only those that match a query, a filter, or both. FIELD is a field of the type keyword, boolean or long, or
the word tags, which means the tags of all namespaces. The command never shows submissions, regardless of the token.`,
		Example: example(`
# The ten most frequent tags
vitrine facets tags

# The 100 authors with the most approved items
vitrine facets author --query 'approval_status:app' --limit 100`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.connection.Bind(cmd.Flags())
	o.output.Bind(cmd.Flags())
	cmd.Flags().IntVar(&o.count.Size, "limit", 10, "maximum number of values to list, 1 to 100")
	cmd.Flags().StringVarP(&o.count.Query, "query", "q", "", "count only items that match this query")
	cmd.Flags().StringVar(&o.count.Filter, "filter", "", "count only items of the filter with this UUID or numeric ID; needs a READ-WRITE token")
	cmd.Flags().StringVar(&o.count.Prefix, "prefix", "", "list only values that begin with this text, in upper or lower case")
	return cmd
}

func (o *facetsOptions) run(cmd *cobra.Command, field string) error {
	if err := o.output.Validate(); err != nil {
		return err
	}
	if o.count.Size < 1 || o.count.Size > library.MaxFacetValues {
		return exit.Usagef("--limit %d: must be from 1 to %d", o.count.Size, library.MaxFacetValues)
	}
	if _, err := query.Countable(field, query.Public); errors.As(err, new(*query.ForbiddenFieldError)) {
		return exit.Usagef("FIELD %s: the command never shows submissions, because personal data does not belong in terminals", field)
	}
	c, err := o.connection.Open()
	if err != nil {
		return err
	}
	if o.count.Field = field; o.count.Query == "" && o.count.Filter == "" {
		o.count.Query = "*:*"
	}
	found, err := c.Facets(cmd.Context(), o.count)
	if err != nil {
		return err
	}
	return o.output.Show(cmd.OutOrStdout(), found, func(w io.Writer) error {
		var rows [][]string
		for _, v := range found.Values {
			rows = append(rows, []string{text.Cut(v.Value, 80), text.Thousands(v.Count)})
		}
		if err := output.Columns(w, []string{"VALUE", "ITEMS"}, rows); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "\n%s matching items\n", text.Thousands(found.Total))
		return err
	})
}
