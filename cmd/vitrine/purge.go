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
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/library"
)

func newPurge() *cobra.Command {
	var dataDir string
	var yes bool
	cmd := &cobra.Command{
		Use:   "purge NAMESPACE/NAME",
		Short: "Erase a deleted property with all its items",
		Long: `Erase a deleted property permanently: its items, and everything that was created in it over HTTP. Otherwise they stay stored
and return when the Property is created again. The command connects to the server that uses the data directory.`,
		Example: example(`
# Erase the property default of the namespace shop
kubectl exec -it -n vitrine-system deploy/vitrine -- vitrine purge shop/default`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := library.PropertyID(args[0])
			if ns, name, ok := strings.Cut(args[0], "/"); !ok || ns == "" || name == "" || strings.Contains(name, "/") {
				return usagef("property %q: must be NAMESPACE/NAME", args[0])
			}
			c := admin.NewClient(dataDir)
			stored, err := c.Stored(cmd.Context())
			if err != nil {
				return adminError(dataDir, err)
			}
			items, listed := stored[p]
			switch {
			case !listed && !yes:
				return fmt.Errorf("the store has no property %s; it has: %s; if an earlier purge was interrupted, pass --yes to complete it",
					p, listing(stored))
			case !yes && !confirmed(cmd, p, items):
				return errors.New("nothing was erased: enter the name of the property when asked, or pass --yes")
			}
			// An interrupted purge can leave data of a property that is not listed.
			err = c.Purge(cmd.Context(), p)
			if err != nil && !listed {
				return fmt.Errorf("%w; the store has: %s", adminError(dataDir, err), listing(stored))
			}
			if err != nil {
				return adminError(dataDir, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s erased, with %s items\n", p, text.Thousands(items))
			return nil
		},
	}
	bindDataDir(cmd.Flags(), &dataDir)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// confirmed asks the user for confirmation. If standard input is not a terminal, it returns false.
func confirmed(cmd *cobra.Command, p library.PropertyID, items int64) bool {
	if !isTerminal(cmd.InOrStdin()) {
		return false
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "This permanently erases %s items of %s. Enter the name of the property to continue: ", text.Thousands(items), p)
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	return err == nil && strings.TrimSpace(line) == string(p)
}

func listing(stored map[library.PropertyID]int64) string {
	if len(stored) == 0 {
		return "nothing"
	}
	var names []string
	for _, p := range slices.Sorted(maps.Keys(stored)) {
		names = append(names, fmt.Sprintf("%s (%s items)", p, text.Thousands(stored[p])))
	}
	return strings.Join(names, ", ")
}
