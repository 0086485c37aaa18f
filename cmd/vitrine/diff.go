package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/contentdiff"
	"github.com/vitrine-dev/vitrine/internal/cli/validate"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/library"
)

type diffOptions struct {
	connection connect.Connection
	manifests  manifests
	property   string
	items      int
	links      bool
	console    string
	output     string
}

func newDiff() *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff -f FILE|DIR|-",
		Short: "Show in Markdown which items the filters and scopes in manifests would show and hide",
		Long: `For each ContentFilter in the manifests, show in Markdown which items it would add to the served filter, and which items it would
remove. Do the same for what tokens read: for readOnlyQuery of a Property, and for the query of an AccessToken. The command changes nothing.
It needs a READ-WRITE token of the property.`,
		Example: example(`
# Comment on a pull request
vitrine diff -f deploy/ | gh pr comment --body-file -

# For each filter and each scope, list up to 50 added items and up to 50 removed items
vitrine diff -f deploy/ --items 50

# Link each new or changed filter to the console, where the reviewer sees the pictures
vitrine diff -f deploy/ --links --console-url https://content.shop.example`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.connection.Bind(cmd.Flags())
	o.manifests.bind(cmd.Flags())
	cmd.Flags().StringVar(&o.property, "property", "", "NAMESPACE/NAME of the token's property, required if the manifests have objects of several properties")
	cmd.Flags().IntVar(&o.items, "items", 5, "for each filter and each scope, maximum number of added items to list, and of removed items, 0 to 500")
	cmd.Flags().BoolVar(&o.links, "links", false, "for each new or changed filter, add a link that opens the comparison in the console")
	cmd.Flags().StringVar(&o.console, "console-url", "", "base URL of the server in the links, such as https://content.shop.example, if it differs from --server")
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
	if o.console != "" && !o.links {
		return exit.Usagef("--console-url needs --links")
	}
	report, judged, err := o.manifests.judge(cmd)
	if err != nil {
		return err
	}
	if report.Errors > 0 {
		validate.Text(cmd.ErrOrStderr(), report.Findings)
		return exit.With(exit.Manifests, fmt.Errorf("the manifests have errors (%s): correct them first", tally(report)))
	}
	property, manifests, err := o.comparable(judged)
	if err != nil {
		return err
	}
	c, err := o.connection.Open()
	if err != nil {
		return err
	}
	changes := []contentdiff.Change{}
	if len(manifests) > 0 {
		served, err := c.Status(cmd.Context())
		if err != nil {
			return err
		}
		if served.Property != property {
			return fmt.Errorf("the access token belongs to property %s, and the manifests to %s: use a READ-WRITE token of %s, "+
				"or name another property with --property", served.Property, property, property)
		}
		report := contentdiff.Options{First: o.items}
		if o.links {
			if report.Console, err = consoleURL(cmp.Or(o.console, c.Server())); err != nil {
				return err
			}
		}
		if changes, err = contentdiff.Compare(cmd.Context(), c, served, manifests, report); err != nil {
			return err
		}
	}
	if o.output == "json" {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(changes); err != nil {
			return fmt.Errorf("write the changes: %w", err)
		}
	} else {
		contentdiff.Markdown(cmd.OutOrStdout(), changes)
	}
	failed := 0
	for _, change := range changes {
		if change.State == contentdiff.Failed {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s could not be compared", text.Plural(failed, "object"))
	}
	return nil
}

// consoleURL parses the base URL of the links.
func consoleURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil, exit.Usagef("--console-url %q: must be an http or https URL, such as https://content.shop.example", text)
	}
	return u, nil
}

// comparable returns the objects of one property that can be compared, and the name of the property. The property is the one in --property
// or, without this flag, the only property in the manifests.
func (o *diffOptions) comparable(judged []validate.Judged) (string, []contentdiff.Manifest, error) {
	byProperty := map[string][]contentdiff.Manifest{}
	for _, j := range judged {
		switch d := j.Judgement.Definition; d.Owner.Kind {
		case library.KindFilter, library.KindProperty, library.KindToken, library.KindWebhook:
			byProperty[string(d.Property)] = append(byProperty[string(d.Property)], contentdiff.Manifest{Definition: d, Suspended: j.Typed.Suspended()})
		case library.KindTag, library.KindUnit:
		}
	}
	properties := slices.Sorted(maps.Keys(byProperty))
	property := o.property
	if property == "" && len(properties) > 1 {
		return "", nil, exit.Usagef("the manifests have objects of several properties (%s), but a token belongs to one property: name that property with --property",
			strings.Join(properties, ", "))
	}
	if property == "" && len(properties) == 1 {
		property = properties[0]
	}
	if o.property != "" && byProperty[property] == nil {
		return "", nil, fmt.Errorf("the manifests have no ContentFilter, Property or AccessToken of property %s: check -f and --property", property)
	}
	return property, byProperty[property], nil
}
