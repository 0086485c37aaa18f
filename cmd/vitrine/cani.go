package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/library"
)

type canIOptions struct {
	reach  connect.Reach
	output output.Format
}

func newCanI() *cobra.Command {
	o := &canIOptions{}
	actions := make([]string, 0, len(library.Actions()))
	for _, a := range library.Actions() {
		actions = append(actions, string(a))
	}
	cmd := &cobra.Command{
		Use:   "can-i TOKEN [ACTION]",
		Short: "Show what an access token permits, and how many items it sees",
		Long: `Ask the server what an access token permits: its class, its actions, its query, and the number of items that exist for it. TOKEN is
the name of an AccessToken whose Secret you can read, or - for the token in --token-file or VITRINE_TOKEN, which needs no cluster.

With an ACTION, the command prints yes or no. If the token does not permit the action, the exit code is 1. The actions are
` + strings.Join(actions, ", ") + `.`,
		Example: example(`
# What does the token of the web page show?
kubectl vitrine can-i storefront -n shop

# Can the token of a collector erase items?
kubectl vitrine can-i hashtag-collector Erase -n shop`),
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.reach.Bind(cmd)
	o.output.Bind(cmd.Flags())
	cmd.ValidArgsFunction = first(o.reach.Cluster.Suggest(&v1alpha1.AccessTokenList{}))
	return cmd
}

func (o *canIOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.output.Validate(); err != nil {
		return err
	}
	action := ""
	if len(args) == 2 {
		if action = args[1]; !slices.Contains(library.Actions(), library.Action(action)) {
			return exit.Usagef("ACTION %s: must be one of %v", action, library.Actions())
		}
	}
	c, err := o.client(cmd, args[0])
	if err != nil {
		return err
	}
	r, err := c.Rights(cmd.Context())
	if err != nil {
		return err
	}
	if action == "" {
		return o.output.Show(cmd.OutOrStdout(), r, func(w io.Writer) error { return showRights(w, r, time.Now()) })
	}
	if !slices.Contains(r.Actions, action) {
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), "no")
		return fmt.Errorf("the token does not permit %s: it permits %s", action, permitted(r))
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "yes")
	return err
}

func (o *canIOptions) client(cmd *cobra.Command, token string) (*client.Client, error) {
	if token == "-" {
		if file := o.reach.Cluster.Kubeconfig; file != "" {
			return nil, exit.Usagef("--kubeconfig %s: a TOKEN of - needs no cluster: omit the flag, or pass the name of an AccessToken", file)
		}
		return o.reach.Connection.Open()
	}
	return o.reach.Token(cmd.Context(), token)
}

func permitted(r client.Rights) string {
	return cmp.Or(strings.Join(r.Actions, ", "), "no action")
}

func showRights(w io.Writer, r client.Rights, now time.Time) error {
	rows := [][]string{{"class", r.Class}, {"actions", permitted(r)}}
	if r.Query != "" {
		rows = append(rows, []string{"query", text.Cut(r.Query, 200)})
	}
	if r.Items != nil {
		rows = append(rows, []string{"items", text.Thousands(*r.Items)})
	}
	if r.Filters != nil {
		rows = append(rows, []string{"filters", cmp.Or(strings.Join(r.Filters, ", "), "none")})
	}
	expires := time.Time{}
	if r.Expires != nil {
		expires = *r.Expires
	}
	return output.Columns(w, []string{"RIGHT", "VALUE"}, append(rows, []string{"expires in", until(expires, now)}))
}
