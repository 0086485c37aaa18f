package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/item"
)

type explainOptions struct {
	reach  connect.Reach
	output output.Format
}

func newExplain() *cobra.Command {
	o := &explainOptions{}
	cmd := &cobra.Command{
		Use:   "explain FILTER ID",
		Short: "Explain clause by clause why an item is or is not in a ContentFilter",
		Long: `Explain clause by clause why an item is or is not in a ContentFilter. ✓ marks a clause that the item satisfies, ✗ a clause that
it does not satisfy, and · an optional clause that it does not satisfy. With --server and a READ-WRITE token, the command needs no
cluster.`,
		Example: example(`
# Why is item 100412 not in the filter summer-wall?
kubectl vitrine explain summer-wall 100412 -n shop`),
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0], args[1]) },
	}
	o.reach.Bind(cmd)
	o.output.Bind(cmd.Flags())
	cmd.ValidArgsFunction = first(o.reach.Cluster.Suggest(&v1alpha1.ContentFilterList{}))
	return cmd
}

// explained is the output of explain.
type explained struct {
	Item item.ID `json:"item"`
	// Filter is the ContentFilter as namespace/name.
	Filter string `json:"filter"`
	// Result is "in" or "not in".
	Result      string             `json:"result"`
	Explanation client.Explanation `json:"explanation"`
}

func (o *explainOptions) run(cmd *cobra.Command, name, number string) error {
	if err := o.output.Validate(); err != nil {
		return err
	}
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !item.ValidID(id) {
		return exit.Usagef("item id %q: must be a number of at least 1", number)
	}
	f, c, err := o.reach.Filter(cmd.Context(), name, true)
	if err != nil {
		return err
	}
	e, err := c.ExplainFilter(cmd.Context(), f.UUID, id)
	if err != nil {
		return err
	}
	result := "not in"
	if e.Matched {
		result = "in"
	}
	return o.output.Show(cmd.OutOrStdout(), explained{id, f.Name, result, e}, func(w io.Writer) error {
		fmt.Fprintf(w, "Item %d is %s ContentFilter %s.\n\n", id, result, f.Name)
		tree(w, e, "", "")
		return nil
	})
}

// mark returns ✓ for a clause that permits a match: a "must not" clause that does not match, or any other clause that matches. It returns ·
// for a "should" clause that does not match, and ✗ otherwise.
func mark(e client.Explanation) string {
	switch {
	case e.Matched != (e.Occur == "must not"):
		return "✓"
	case e.Occur == "should":
		return "·"
	}
	return "✗"
}

// tree writes a clause and, indented below it, the clauses that it contains. first is the prefix of the clause's own line, and rest is the
// prefix of all following lines.
func tree(w io.Writer, e client.Explanation, first, rest string) {
	fmt.Fprint(w, first, mark(e), " ")
	if e.Occur != "" {
		fmt.Fprint(w, text.Visible(e.Occur), " ")
	}
	fmt.Fprint(w, text.Visible(text.Cut(e.Clause, 200)))
	if e.Score != 0 {
		fmt.Fprintf(w, "  (score %.3g)", e.Score)
	}
	fmt.Fprintln(w)
	below := "  "
	if len(e.Children) > 0 {
		below = "│ "
	}
	if e.Detail != "" {
		fmt.Fprintf(w, "%s%s  %s\n", rest, below, text.Visible(text.Cut(e.Detail, 400)))
	}
	for i, child := range e.Children {
		if i == len(e.Children)-1 {
			tree(w, child, rest+"└─ ", rest+"   ")
		} else {
			tree(w, child, rest+"├─ ", rest+"│  ")
		}
	}
}
