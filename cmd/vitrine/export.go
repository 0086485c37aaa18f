package main

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/client"
)

type exportOptions struct {
	connection connection
	file       string
	query      string
}

func newExport() *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export every item as a line of NDJSON, the format of import",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.connection.bind(cmd.Flags())
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "file to write, compressed if its name ends in .gz; it appears only when it is complete (default standard output)")
	cmd.Flags().StringVarP(&o.query, "query", "q", "", "export only items that match this query")
	return cmd
}

func (o *exportOptions) run(cmd *cobra.Command) error {
	c, err := o.connection.open()
	if err != nil {
		return err
	}
	var out io.Writer = cmd.OutOrStdout()
	var file *exportFile
	if o.file != "" {
		if file, err = createExport(o.file); err != nil {
			return err
		}
		defer file.abandon()
		out = file
	}
	var total int64
	shown := io.Discard
	if stderr := cmd.ErrOrStderr(); isTerminal(stderr) && !isTerminal(out) {
		if total, err = c.CountItems(cmd.Context(), cmp.Or(o.query, "*:*")); err != nil {
			return advise(err)
		}
		shown = stderr
	}
	p := newProgress(shown, "exported", 0, 0, total)
	began := time.Now()
	lines, err := c.Export(cmd.Context(), out, o.query, func(lines, _ int64) { p.set(lines, lines) })
	p.finish()
	unreadable, partial := errors.AsType[*client.UnreadableError](err)
	if err != nil && !partial {
		return advise(err)
	}
	if file != nil {
		if err := file.keep(); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s lines in %s\n", text.Thousands(lines), time.Since(began).Round(time.Millisecond))
	}
	if partial {
		return &codedError{exitDamaged, unreadable}
	}
	return nil
}

// exportFile is a file that gets its name only when it is complete. Only its owner can read it, because it contains personal data.
type exportFile struct {
	io.Writer
	path string
	zip  *gzip.Writer
	file *os.File // nil after keep or abandon
}

func createExport(path string) (*exportFile, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".vitrine-export-*")
	if err != nil {
		// The error names the temporary file, which means nothing to the user.
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			err = e.Err
		}
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	e := &exportFile{Writer: f, path: path, file: f}
	if strings.HasSuffix(path, ".gz") {
		e.zip = gzip.NewWriter(f)
		e.Writer = e.zip
	}
	return e, nil
}

func (e *exportFile) keep() error {
	var err error
	if e.zip != nil {
		err = e.zip.Close()
	}
	err = errors.Join(err, e.file.Sync(), e.file.Close())
	if err == nil {
		err = os.Rename(e.file.Name(), e.path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", e.path, err)
	}
	e.file = nil
	return nil
}

func (e *exportFile) abandon() {
	if e.file != nil {
		e.file.Close()
		os.Remove(e.file.Name())
	}
}
