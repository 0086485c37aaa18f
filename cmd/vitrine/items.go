package main

import (
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/client"
)

type itemsOptions struct {
	reach  connect.Reach
	output output.Format
	limit  int
	query  string
	sort   string
}

func newItems() *cobra.Command {
	o := &itemsOptions{}
	cmd := &cobra.Command{
		Use:   "items FILTER",
		Short: "List the items of a ContentFilter, in its order",
		Long: `List the items of a ContentFilter, in its order. The command never shows submissions, regardless of the token. With --server and
a READ-WRITE token, it needs no cluster.`,
		Example: example(`
# The first 20 items
kubectl vitrine items summer-wall -n shop

# All items that also match a query, as JSON
kubectl vitrine items summer-wall -n shop --query 'text:beach' --limit 0 -o json

# The first 20 items on a server that vitrine dev has started, with the token in VITRINE_TOKEN
vitrine items summer-wall --server http://127.0.0.1:8080`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.reach.Bind(cmd)
	o.output.Bind(cmd.Flags())
	cmd.ValidArgsFunction = first(o.reach.Cluster.Suggest(&v1alpha1.ContentFilterList{}))
	cmd.Flags().IntVar(&o.limit, "limit", 20, "maximum number of items to list; 0 means all")
	cmd.Flags().StringVarP(&o.query, "query", "q", "", "list only items that also match this query")
	cmd.Flags().StringVar(&o.sort, "sort-by", "", "order to use instead of the filter's own order")
	return cmd
}

func (o *itemsOptions) run(cmd *cobra.Command, name string) error {
	if err := o.output.Validate(); err != nil {
		return err
	}
	if o.limit < 0 {
		return exit.Usagef("--limit %d: must be 0 or more", o.limit)
	}
	f, c, err := o.reach.Filter(cmd.Context(), name, false)
	if err != nil {
		return err
	}
	listing := client.Listing{AdditionalQuery: o.query, SortBy: o.sort, PageSize: 500}
	if o.limit > 0 {
		listing.PageSize = min(o.limit, 500)
	}
	items := []client.Item{}
	for it, err := range c.FilterItems(cmd.Context(), f.UUID, listing) {
		if err != nil {
			return err
		}
		it.Submission = nil // omit personal data, which does not belong in terminals, scroll-back buffers and screenshots
		items = append(items, it)
		if len(items) == o.limit {
			break
		}
	}
	return o.output.Show(cmd.OutOrStdout(), items, func(w io.Writer) error {
		var rows [][]string
		for _, it := range items {
			rows = append(rows, []string{
				strconv.FormatInt(it.ID, 10), it.CreatedOn, it.ApprovalStatus, it.Content.ContentType, it.Content.SocialPlatform,
				text.Cut(it.Content.Text, 80),
			})
		}
		return output.Columns(w, []string{"ID", "CREATED", "STATUS", "TYPE", "PLATFORM", "TEXT"}, rows)
	})
}
