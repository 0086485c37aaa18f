package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/message"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/item"
)

type changesOptions struct {
	reach    connect.Reach
	filter   string
	query    string
	since    string
	follow   bool
	items    bool
	pageSize int
}

// followWait is the time that one request of --follow waits for a change. Proxies often allow a minute.
const followWait = 30 * time.Second

func newChanges() *cobra.Command {
	o := &changesOptions{}
	cmd := &cobra.Command{
		Use:   "changes",
		Short: "Print the changes of the items of a filter or a query as JSON lines",
		Long: `Print which items of a filter or a query have changed. Each line is a JSON object:

{"change":"reset"}                   forget everything: the items are those that follow
{"change":"upsert","id":7}           the item is in the listing, and is new or has changed
{"change":"remove","id":7}           the item is not in the listing
{"cursor":"…"}                       pass this value to --since to continue after the lines before it

Without --since, the first line is a reset. With --items, an upsert contains the item, and all items follow a reset as upserts. A
program that applies the lines then always has the items of the listing. Without --items, list the items yourself after a reset.
With a READ-WRITE token, items contain submissions. With --follow, the command also continues after an interruption of the
server, until you stop it.`,
		Example: example(`
# Keep a file of all changes of a filter, with the items
vitrine changes --filter summer-wall --items --follow > changes.ndjson

# Print what has changed since an earlier call
vitrine changes --query 'approval_status:app' --since "$cursor"`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.reach.Bind(cmd)
	cmd.Flags().StringVar(&o.filter, "filter", "", "follow the filter with this name of a ContentFilter, UUID or numeric ID")
	cmd.Flags().StringVarP(&o.query, "query", "q", "", "follow the items that match this query")
	cmd.Flags().StringVar(&o.since, "since", "", "cursor of an earlier call to continue from (default: begin with a reset)")
	cmd.Flags().BoolVar(&o.follow, "follow", false, "wait for further changes until the command is stopped")
	cmd.Flags().BoolVar(&o.items, "items", false, "print the items, and list all of them after a reset")
	cmd.Flags().IntVar(&o.pageSize, "page-size", 500, "number of changes or items to request at a time, 1 to 500")
	_ = cmd.RegisterFlagCompletionFunc("filter", o.reach.Cluster.Suggest(&v1alpha1.ContentFilterList{})) // an error means that the flag does not exist
	return cmd
}

// filterID matches the UUIDs and the numeric ids of filters. Names of objects cannot be as long as a UUID with its hyphens at these places by
// accident.
var filterID = regexp.MustCompile(`^(\d+|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$`)

func (o *changesOptions) run(cmd *cobra.Command) error {
	if (o.filter == "") == (o.query == "") {
		return exit.Usagef("pass either --filter or --query")
	}
	if o.pageSize < 1 || o.pageSize > 500 {
		return exit.Usagef("--page-size %d: must be from 1 to 500", o.pageSize)
	}
	c, err := o.open(cmd)
	if err != nil {
		return err
	}
	f := client.Following{Filter: o.filter, Query: o.query, Since: o.since, PageSize: o.pageSize, List: o.items}
	if o.follow {
		f.Wait = followWait
		f.Retrying = func(err error, in time.Duration) {
			fmt.Fprintln(cmd.ErrOrStderr(), message.Retrying(err, in))
		}
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	for page, err := range c.Changes(cmd.Context(), f) {
		if err != nil && o.follow && cmd.Context().Err() != nil {
			return nil // the user has stopped the command
		}
		if err != nil {
			return err
		}
		if err := o.print(out, page); err != nil {
			return fmt.Errorf("write the changes: %w", err)
		}
	}
	return nil
}

// open connects to the server, and replaces the name of a filter by its UUID.
func (o *changesOptions) open(cmd *cobra.Command) (*client.Client, error) {
	if o.filter == "" || filterID.MatchString(o.filter) {
		return o.reach.Connection.Open()
	}
	found, c, err := o.reach.Filter(cmd.Context(), o.filter, false)
	o.filter = found.UUID
	return c, err
}

// changeLine is a line about a change, or a cursor.
type changeLine struct {
	Change string          `json:"change,omitempty"`
	ID     item.ID         `json:"id,omitempty"`
	Item   json.RawMessage `json:"item,omitempty"`
	Cursor string          `json:"cursor,omitempty"`
}

// print writes a page, and sends it to the reader at once.
func (o *changesOptions) print(out *bufio.Writer, page client.ChangePage) error {
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	var all []changeLine
	if page.Reset {
		all = append(all, changeLine{Change: "reset"})
	}
	for _, c := range page.Changes {
		line := changeLine{Change: "upsert", ID: c.ID}
		switch {
		case c.Removed:
			line.Change = "remove"
		case o.items:
			line.Item = c.Item
		}
		all = append(all, line)
	}
	if page.Cursor != "" {
		all = append(all, changeLine{Cursor: page.Cursor})
	}
	for _, line := range all {
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return out.Flush()
}
