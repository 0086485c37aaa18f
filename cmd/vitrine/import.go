package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/importstate"
	"github.com/vitrine-dev/vitrine/internal/cli/message"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/cli/textinput"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/client"
)

type importOptions struct {
	connection connect.Connection
	onConflict string
	unanswered string
	restart    bool
}

func newImport() *cobra.Command {
	o := &importOptions{}
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Import items from an NDJSON file",
		Long: `Import items from an NDJSON file or from standard input, one item per line: complete items as export writes them, or request
bodies of POST /v2/content/. The input is text in UTF-8 or UTF-16, optionally compressed with gzip.

The server validates each line separately. If it rejects lines, the command prints the number of each rejected line with the
reason, and the exit code is 3. If an import of a file is interrupted, run the same command again to continue it.`,
		Example: example(`
# Import a file
vitrine import items.ndjson

# Import a compressed file, and skip items that exist
vitrine import items.ndjson.gz --on-conflict=skip

# Import the elements of a JSON array
jq -c '.[]' array.json | vitrine import -`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.connection.Bind(cmd.Flags())
	cmd.Flags().StringVar(&o.onConflict, "on-conflict", string(client.Fail), "what to do with a line whose item ID already exists: fail (reject the line), replace (the existing item) or skip (the line)")
	cmd.Flags().StringVar(&o.unanswered, "unanswered", string(client.Stop),
		"what to do if the response to a line without an ID was lost: stop, resend (may store the item twice) or skip (may lose it)")
	cmd.Flags().BoolVar(&o.restart, "restart", false, "start with the first line, even if an earlier import of the file was interrupted")
	return cmd
}

func (o *importOptions) validate() error {
	if !slices.Contains([]client.OnConflict{client.Fail, client.Replace, client.Skip}, client.OnConflict(o.onConflict)) {
		return exit.Usagef("--on-conflict %q: must be fail, replace or skip", o.onConflict)
	}
	if !slices.Contains([]client.Unanswered{client.Stop, client.Resend, client.PassOver}, client.Unanswered(o.unanswered)) {
		return exit.Usagef("--unanswered %q: must be stop, resend or skip", o.unanswered)
	}
	return nil
}

func (o *importOptions) run(cmd *cobra.Command, name string) error {
	if err := o.validate(); err != nil {
		return err
	}
	c, err := o.connection.Open()
	if err != nil {
		return err
	}
	in, err := openInput(cmd.InOrStdin(), name)
	if err != nil {
		return err
	}
	defer in.close()
	stderr := cmd.ErrOrStderr()
	kept, state := o.state(stderr, c, in)
	if state.At.Lines > 0 || state.At.Sent > 0 {
		fmt.Fprintf(stderr, "resuming after line %s of the import that started at %s; to import from the first line, use --restart\n",
			text.Thousands(state.At.Lines), state.Begun.Local().Format(time.DateTime))
	}

	from := state.At.Bytes
	if in.changed {
		from = 0 // state.At.Bytes counts bytes of the content, so the position in the file is unknown
	}
	p := output.NewProgress(stderr, "imported", state.At.Lines, from, in.size)
	began := time.Now()
	at, err := c.Import(cmd.Context(), in, client.ImportOptions{
		OnConflict: client.OnConflict(o.onConflict),
		Unanswered: client.Unanswered(o.unanswered),
		Resume:     &state.At,
		Save: func(at client.Checkpoint) error {
			p.Set(at.Lines, in.read.Load())
			if kept == nil {
				return nil
			}
			state.At = at
			return kept.Save(state)
		},
		Failed:   func(e client.LineError) { fmt.Fprintln(p.Out, message.OneLine(e)) },
		Retrying: func(err error, in time.Duration) { fmt.Fprintln(p.Out, message.Retrying(err, in)) },
	})
	p.Finish()
	if err != nil {
		return o.stopped(cmd.Context(), in, at, err)
	}
	if kept != nil {
		if err := kept.Remove(); err != nil {
			return err
		}
	}
	fmt.Fprintln(cmd.OutOrStdout(), summary(at, time.Since(began)))
	if at.Failed > 0 {
		return exit.With(exit.Lines, fmt.Errorf("%s of %s lines failed", text.Thousands(at.Failed), text.Thousands(at.Lines)))
	}
	return nil
}

// state returns the file that records the progress of the import, and the state from which the import continues. If the progress of the
// input cannot be recorded, state returns a nil file.
func (o *importOptions) state(stderr io.Writer, c *client.Client, in *input) (*importstate.File, importstate.State) {
	fresh := importstate.State{Server: c.Server(), Input: in.path, Begun: time.Now().UTC()}
	if in.path == "" {
		return nil, fresh
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		fmt.Fprintf(stderr, "cannot record the progress, so this import cannot be resumed if it stops: %v\n", err)
		return nil, fresh
	}
	kept := importstate.Open(filepath.Join(cache, "vitrine", "imports"), c.Server(), c.Identity(), in.path)
	if o.restart {
		return kept, fresh
	}
	state, err := kept.Load()
	if err != nil {
		fmt.Fprintf(stderr, "%v; starting with the first line\n", err)
	}
	if state == nil {
		return kept, fresh
	}
	return kept, *state
}

// stopped returns an error that states the progress of the import and how to continue.
func (o *importOptions) stopped(ctx context.Context, in *input, at client.Checkpoint, err error) error {
	var again string
	switch {
	case in.path != "":
		again = "run the same command again to resume"
	case errors.As(err, new(*textinput.Error)):
		again = "import the complete input with --on-conflict=skip, which skips items that exist"
	default:
		again = "the rest of the input is not imported"
	}
	var lost *client.UnansweredError
	switch {
	case errors.Is(err, client.ErrChanged):
		return fmt.Errorf("%s has changed since the import was interrupted: %w; to import from the first line, use --restart", in.name, err)
	case errors.As(err, &lost):
		return fmt.Errorf("stopped after line %s: %w; check whether the server has these items, then run the command again with --unanswered=resend or --unanswered=skip",
			text.Thousands(at.Lines), err)
	case ctx.Err() != nil:
		return exit.With(exit.Interrupted, fmt.Errorf("interrupted after line %s; %s", text.Thousands(at.Lines), again))
	}
	return fmt.Errorf("stopped after line %s: %w; %s", text.Thousands(at.Lines), err, again)
}

func summary(at client.Checkpoint, took time.Duration) string {
	parts := []string{text.Thousands(at.Created) + " added"}
	for _, p := range []struct {
		n    int64
		what string
	}{{at.Replaced, "replaced"}, {at.Present, "already present"}, {at.Unknown, "with unknown outcome"}, {at.Failed, "failed"}} {
		if p.n > 0 {
			parts = append(parts, text.Thousands(p.n)+" "+p.what)
		}
	}
	return fmt.Sprintf("%s in %s: %s", text.Plural(at.Lines, "line"), took.Round(time.Millisecond), strings.Join(parts, ", "))
}

// input is the input of an import. Its member read counts the bytes of the file that it has read, before decompression.
type input struct {
	io.Reader
	name string
	path string // absolute; "" for standard input
	size int64  // length of the file in bytes; 0 if unknown
	read atomic.Int64
	file *os.File
	// changed is true if the file is compressed or encoded, so that read does not count bytes of the content.
	changed bool
}

func openInput(stdin io.Reader, name string) (*input, error) {
	if name == "-" {
		in := &input{name: "standard input"}
		return in, in.decode(stdin)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s is a directory: name a file", name), f.Close())
	}
	in := &input{name: name, path: path, size: info.Size(), file: f}
	if err := in.decode(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return in, nil
}

// decode makes in read the content of r, which can be compressed or encoded.
func (in *input) decode(r io.Reader) (err error) {
	if in.Reader, in.changed, err = textinput.Open(in.name, &counted{r, &in.read}); err != nil {
		return err
	}
	return in.checkFormat()
}

// maxFirstLine is the maximum number of bytes to read in order to recognize the format.
const maxFirstLine = 64 << 10

// checkFormat rejects an input whose first non-blank line shows that it is not NDJSON. An import of such a file would print an error for
// each line, and would store any lines that happen to be items.
func (in *input) checkFormat() error {
	lines := bufio.NewReaderSize(in.Reader, maxFirstLine)
	var head, first []byte
	for len(first) == 0 && len(head) < maxFirstLine {
		line, err := lines.ReadSlice('\n')
		head = append(head, line...)
		first = bytes.TrimSpace(line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	in.Reader = io.MultiReader(bytes.NewReader(head), lines)
	from := "" // jq reads only UTF-8
	if in.changed {
		from = ", after you have decompressed it and converted it to UTF-8 without a byte order mark"
	}
	switch {
	case len(first) == 0:
	case bytes.IndexByte(first, 0) >= 0:
		return fmt.Errorf("%s is not text: import NDJSON, with one item on each line", in.name)
	case first[0] == '[':
		return fmt.Errorf("%s is a JSON array: put one item on each line, for example with jq -c '.[]'%s", in.name, from)
	case string(first) == "{":
		return fmt.Errorf("%s has JSON that spans several lines: put one item on each line, for example with jq -c '.'%s", in.name, from)
	case first[0] != '{' && bytes.ContainsAny(first, ",;\t"):
		return fmt.Errorf("%s is CSV: convert it to NDJSON, with one item on each line", in.name)
	}
	return nil
}

func (in *input) close() {
	if in.file != nil {
		in.file.Close()
	}
}

// counted counts the bytes that it reads.
type counted struct {
	r io.Reader
	n *atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}
