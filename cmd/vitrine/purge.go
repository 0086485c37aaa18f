package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/server"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/library"
)

func newPurge() *cobra.Command {
	var dataDir string
	var yes bool
	cmd := &cobra.Command{
		Use:   "purge NAMESPACE/NAME",
		Short: "Erase a deleted property with all its items",
		Long: `Erase a deleted property permanently: its items, and everything that was created in it over HTTP. Without this command, the
server keeps this data, and serves it again when the Property is created again. The command connects to the server that uses
the data directory.`,
		Example: example(`
# Erase the property default of the namespace shop
kubectl exec -it -n vitrine-system deploy/vitrine -- vitrine purge shop/default`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := library.PropertyID(args[0])
			if ns, name, ok := strings.Cut(args[0], "/"); !ok || ns == "" || name == "" || strings.Contains(name, "/") {
				return exit.Usagef("property %q: must be NAMESPACE/NAME", args[0])
			}
			c := admin.NewClient(dataDir)
			stored, err := c.Stored(cmd.Context())
			if err != nil {
				return adminError(dataDir, err)
			}
			items, listed := stored[p]
			switch {
			case !listed && !yes:
				return fmt.Errorf("the store has no property %s (its properties: %s); if an earlier purge of the property was interrupted, pass --yes to complete it",
					p, listing(stored))
			case !yes && !confirmed(cmd, p, items):
				return errors.New("nothing was erased: enter NAMESPACE/NAME of the property when asked, or pass --yes")
			}
			// An interrupted purge can leave data of a property that is not listed.
			err = c.Purge(cmd.Context(), p)
			if err != nil && !listed {
				return fmt.Errorf("%w (properties of the store: %s)", adminError(dataDir, err), listing(stored))
			}
			if err != nil {
				return adminError(dataDir, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "property %s erased, with %s\n", p, text.Plural(items, "item"))
			return nil
		},
	}
	server.BindDataDir(cmd.Flags(), &dataDir)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// confirmed asks the user for confirmation. If standard input is not a terminal, it returns false.
func confirmed(cmd *cobra.Command, p library.PropertyID, items int64) bool {
	if !output.IsTerminal(cmd.InOrStdin()) {
		return false
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "This permanently erases %s and all other data of property %s. To continue, enter NAMESPACE/NAME of the property: ", text.Plural(items, "item"), p)
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	return err == nil && strings.TrimSpace(line) == string(p)
}

func listing(stored map[library.PropertyID]int64) string {
	if len(stored) == 0 {
		return "none"
	}
	var names []string
	for _, p := range slices.Sorted(maps.Keys(stored)) {
		names = append(names, fmt.Sprintf("%s (%s)", p, text.Plural(stored[p], "item")))
	}
	return strings.Join(names, ", ")
}
