package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/item"
)

// OnConflict says what to do with a line whose id exists in the property.
type OnConflict string

// These are the ways to handle a line whose id exists in the property.
const (
	// Fail reports the line as failed, and keeps the existing item. It is the default.
	Fail OnConflict = "fail"
	// Replace replaces the existing item.
	Replace OnConflict = "replace"
	// Skip skips the line, and keeps the existing item.
	Skip OnConflict = "skip"
)

// Unanswered says what to do with a line without an id if the server's answer to it was lost. The server may have stored the line, and
// would store it a second time after a retry. (A line with an id can always be retried.)
type Unanswered string

// These are the ways to handle a line without an id whose answer was lost.
const (
	// Stop ends the import with an *UnansweredError. It is the default.
	Stop Unanswered = "stop"
	// Resend retries the line, which may then be stored twice.
	Resend Unanswered = "resend"
	// PassOver does not retry the line, so its item may be missing.
	PassOver Unanswered = "skip"
)

// ImportOptions configures an import. The zero value contains the defaults.
type ImportOptions struct {
	OnConflict OnConflict
	Unanswered Unanswered
	// Resume continues an earlier import of the same input. The reader must be at the start of the input.
	Resume *Checkpoint
	// A request ends after ChunkLines lines, or as soon as it has at least ChunkBytes bytes. Defaults: 1,000 and 4 MiB.
	ChunkLines, ChunkBytes int
	// GiveUpAfter limits the time since the last answer to a line. If a further retry would exceed it, Import returns the error. Default: 5
	// minutes.
	GiveUpAfter time.Duration
	// Save, if not nil, is called before each request and after each answer. Resume can continue from each Checkpoint that Save receives.
	// If Save returns an error, the import ends.
	Save func(Checkpoint) error
	// Failed, if not nil, is called for each line that was not stored, in the order of the lines within a request.
	Failed func(LineError)
	// Retrying, if not nil, is called after each failed request, with the delay before the retry.
	Retrying func(err error, in time.Duration)
}

// Checkpoint is the progress of an import.
type Checkpoint struct {
	// Lines is the number of lines at the start of the input that are finished: stored, passed over or permanently failed.
	Lines int64 `json:"lines"`
	// Bytes is the length of these lines. SHA256 is the digest of their bytes in lower-case hexadecimal digits.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Sent is the number of the last line that was ever sent. The lines after Lines, up to Sent, may have been stored.
	Sent int64 `json:"sent"`
	// These members count the finished lines by outcome, without blank lines. Created and Replaced lines were stored. Present lines were
	// passed over because an item with their id exists. Unknown lines have no id, and were passed over because the answer was lost
	// (PassOver). Failed lines were refused.
	Created  int64 `json:"created"`
	Replaced int64 `json:"replaced"`
	Present  int64 `json:"present"`
	Unknown  int64 `json:"unknown"`
	Failed   int64 `json:"failed"`
}

// LineError says why a line was not stored.
type LineError struct {
	// Line is the number of the line, from 1, including blank lines.
	Line int64
	// Status is the HTTP status in the answer to the line.
	Status int
	// Reason describes the error, such as "content.text: …".
	Reason string
}

func (e LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// UnansweredError says that the import stopped because it is unknown whether some lines were stored (see Unanswered).
type UnansweredError struct {
	// First and Last are the numbers of the first and the last of these lines. Count is the number of these lines.
	First, Last, Count int64
}

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("the server's response to lines %d to %d was lost, and %d of these lines have no id, so they may already have been added", e.First, e.Last, e.Count)
}

// ErrChanged means that the input differs from the input of the import that Resume continues.
var ErrChanged = errors.New("the input does not begin with the lines that were already imported")

// maxLine is the maximum length of one line of a bulk request, in bytes (docs/http-api.md, "Import and export").
const maxLine = 1 << 20

// Import reads NDJSON and stores each line as an item through POST /v2/content/bulk (extension), in requests of bounded size. The server
// accepts or refuses each line separately. During a request, Import reads the lines of the next one; this read may still be in progress when
// Import returns after an error. Import counts refused lines and passes them to Failed. If the connection is lost, or the server
// responds with 429 or 503, Import retries for as long as GiveUpAfter permits. When ctx ends, the current request may continue for 10
// seconds, so that its answers are not lost. Import returns its progress. After an error, another Import can continue from it (see
// ImportOptions.Resume). Import needs a READ-WRITE token.
func (c *Client) Import(ctx context.Context, r io.Reader, o ImportOptions) (Checkpoint, error) {
	im, err := newImporter(c, r, o)
	if err != nil {
		return Checkpoint{}, err
	}
	next := im.readChunk()
	for {
		var c chunk
		select {
		case c = <-next:
		case <-ctx.Done():
			return im.at, ctx.Err()
		}
		if c.err != nil {
			return im.at, c.err
		}
		if len(c.lines) == 0 {
			return im.at, nil
		}
		next = im.readChunk()
		if err := im.store(ctx, c.lines); err != nil {
			return im.at, err
		}
	}
}

// chunk contains the lines of one request, or the error that prevented reading them. It is empty at the end of the input.
type chunk struct {
	lines []*line
	err   error
}

// readChunk begins to read the next chunk.
func (im *importer) readChunk() <-chan chunk {
	next := make(chan chunk, 1)
	go func() {
		lines, err := im.lines.chunk(im.o.ChunkLines, im.o.ChunkBytes)
		if err != nil {
			err = fmt.Errorf("read line %d: %w", im.lines.number+1, err)
		}
		next <- chunk{lines, err}
	}()
	return next
}

type importer struct {
	client *Client
	o      ImportOptions
	lines  *lineReader
	digest *prefixDigest
	at     Checkpoint
}

func newImporter(c *Client, r io.Reader, o ImportOptions) (*importer, error) {
	if o.ChunkLines <= 0 {
		o.ChunkLines = 1000
	}
	if o.ChunkBytes <= 0 {
		o.ChunkBytes = 4 << 20
	}
	if o.GiveUpAfter == 0 {
		o.GiveUpAfter = 5 * time.Minute
	}
	if o.Save == nil {
		o.Save = func(Checkpoint) error { return nil }
	}
	if o.Failed == nil {
		o.Failed = func(LineError) {}
	}
	if o.Retrying == nil {
		o.Retrying = func(error, time.Duration) {}
	}
	im := &importer{client: c, o: o, lines: newLineReader(r), digest: newPrefixDigest()}
	if o.Resume != nil {
		if err := im.resume(*o.Resume); err != nil {
			return nil, err
		}
	}
	return im, nil
}

// resume skips the lines that an earlier import finished. It fails with ErrChanged if these lines have changed.
func (im *importer) resume(at Checkpoint) error {
	for im.lines.number < at.Lines {
		l, err := im.lines.next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: it has only %d lines, but %d lines were imported", ErrChanged, im.lines.number, at.Lines)
		}
		if err != nil {
			return fmt.Errorf("read line %d: %w", im.lines.number+1, err)
		}
		im.digest.add(l)
	}
	if im.digest.hex() != at.SHA256 && at.Lines > 0 {
		return ErrChanged
	}
	im.at = at
	return nil
}

// store sends the lines of a chunk until all of them are answered.
func (im *importer) store(ctx context.Context, chunk []*line) error {
	for _, l := range chunk {
		switch {
		case l.number <= im.at.Sent:
			l.unsure = true // an earlier import sent it
		case l.tooLong:
			im.refuse(l, http.StatusRequestEntityTooLarge, fmt.Sprintf("longer than %d bytes", maxLine))
		}
		l.done = l.done || l.blank
	}
	began, attempt := time.Now(), 0
	for {
		if err := im.settleUnsure(chunk); err != nil {
			return err
		}
		todo := unfinished(chunk)
		if len(todo) == 0 {
			return im.advance(chunk)
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), im.settle(chunk))
		}
		im.at.Sent = max(im.at.Sent, todo[len(todo)-1].number)
		if err := im.save(); err != nil {
			return err
		}
		err := im.request(ctx, todo)
		if left := len(unfinished(chunk)); left < len(todo) {
			began, attempt = time.Now(), 0
		}
		if aerr := im.advance(chunk); aerr != nil {
			return aerr
		}
		if err == nil {
			continue
		}
		attempt++
		d := pause(attempt, err)
		if fateOf(err) == final || ctx.Err() != nil || time.Since(began)+d > im.o.GiveUpAfter {
			return errors.Join(err, im.settle(chunk))
		}
		im.o.Retrying(err, d)
		if im.client.wait(ctx, d) != nil {
			return errors.Join(err, im.settle(chunk))
		}
	}
}

// settle is called before the import gives up. If no line of the chunk has an unknown outcome, it saves a checkpoint that says so: Sent
// equals Lines.
func (im *importer) settle(chunk []*line) error {
	for _, l := range chunk {
		if l.unsure && !l.done {
			return nil
		}
	}
	im.at.Sent = im.at.Lines
	return im.save()
}

func (im *importer) save() error {
	if err := im.o.Save(im.at); err != nil {
		return fmt.Errorf("save the checkpoint: %w", err)
	}
	return nil
}

// settleUnsure handles lines that may have been stored. Lines with an id can be retried, because the server then reports that the id
// exists. ImportOptions.Unanswered decides about the other lines.
func (im *importer) settleUnsure(chunk []*line) error {
	var open []*line
	for _, l := range chunk {
		if l.unsure && !l.done && !l.identified() {
			open = append(open, l)
		}
	}
	if len(open) == 0 {
		return nil
	}
	switch im.o.Unanswered {
	case Resend:
	case PassOver:
		for _, l := range open {
			l.done = true
			im.at.Unknown++
		}
	default:
		return &UnansweredError{First: open[0].number, Last: open[len(open)-1].number, Count: int64(len(open))}
	}
	return nil
}

// lineAnswer is one line of the response to a bulk request.
type lineAnswer struct {
	// Line is the number of the line in the request, from 1.
	Line    int      `json:"line"`
	Status  int      `json:"status"`
	ID      item.ID  `json:"id"`
	Problem *Problem `json:"problem"`
}

// request sends lines once and processes the answers as they arrive. After an error, lines without an answer are unfinished. They are also
// unsure, unless it is certain that the server did nothing.
func (im *importer) request(ctx context.Context, lines []*line) error {
	var body bytes.Buffer
	for _, l := range lines {
		body.Write(bytes.TrimRight(l.raw, "\r\n"))
		body.WriteByte('\n')
	}
	v := url.Values{}
	if im.o.OnConflict == Replace {
		v.Set("on_conflict", string(Replace))
	}
	ctx, cancel := outlive(ctx, lastRequest)
	defer cancel()
	resp, err := im.client.once(ctx, http.MethodPost, call{path: "/v2/content/bulk", query: v}, &body, int64(body.Len()))
	if err != nil {
		if p, ok := errors.AsType[*Problem](err); fateOf(err) != refused && (!ok || p.Status >= 500) {
			markUnsure(lines)
		}
		return err
	}
	defer resp.Body.Close()
	var later *Problem
	answers := json.NewDecoder(resp.Body)
	for {
		var a lineAnswer
		err := answers.Decode(&a)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			markUnsure(lines)
			return &url.Error{Op: "Read", URL: "/v2/content/bulk", Err: err}
		}
		if a.Line < 1 || a.Line > len(lines) {
			markUnsure(lines)
			return fmt.Errorf("the server responded to line %d, but the request has only %d lines", a.Line, len(lines))
		}
		if p := im.answered(lines[a.Line-1], a); p != nil {
			later = p
		}
	}
	if later != nil {
		later.RetryAfter = max(later.RetryAfter, retryAfter(resp.Header.Get("Retry-After"), time.Now()))
		return later
	}
	if left := unfinished(lines); len(left) > 0 {
		markUnsure(lines)
		return &url.Error{Op: "Read", URL: "/v2/content/bulk", Err: fmt.Errorf("no response for %s: %w", text.Plural(len(left), "line"), io.ErrUnexpectedEOF)}
	}
	return nil
}

// lastRequest is the time for which the current request may continue after the import was canceled, so that its answers are not lost.
const lastRequest = 10 * time.Second

// outlive returns a context that ends after ctx has ended and the given duration has passed.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, func() { stop(); cancel() }
}

// answered processes the answer to one line. If the line is not at fault and may be accepted later, it returns the problem.
func (im *importer) answered(l *line, a lineAnswer) *Problem {
	if l.done {
		return nil
	}
	switch {
	case a.Status == http.StatusCreated:
		im.at.Created++
	case a.Status/100 == 2:
		im.at.Replaced++
	case a.Status == http.StatusTooManyRequests, a.Status == http.StatusServiceUnavailable, a.Status == http.StatusForbidden:
		// The server did not store the line. Forbidden means that the token was revoked during the import, so the line is not at fault.
		l.unsure = false
		p := a.Problem
		if p == nil {
			p = &Problem{}
		}
		p.Status, p.Documented = a.Status, true
		return p
	case a.Status == http.StatusConflict && (l.unsure || im.o.OnConflict == Skip):
		im.at.Present++
	default:
		im.refuse(l, a.Status, reasonOf(a))
	}
	l.done = true
	return nil
}

func reasonOf(a lineAnswer) string {
	if a.Problem == nil {
		return fmt.Sprintf("refused with HTTP %d", a.Status)
	}
	if a.Problem.Detail != "" {
		return a.Problem.Detail
	}
	return a.Problem.Title
}

func (im *importer) refuse(l *line, status int, reason string) {
	l.done = true
	im.at.Failed++
	im.o.Failed(LineError{Line: l.number, Status: status, Reason: reason})
}

// advance moves the checkpoint past the finished lines at the start of the chunk.
func (im *importer) advance(chunk []*line) error {
	moved := false
	for _, l := range chunk {
		if !l.done {
			break
		}
		if l.number > im.at.Lines {
			im.digest.add(*l)
			im.at.Lines, im.at.Bytes, moved = l.number, im.digest.bytes, true
		}
	}
	if !moved {
		return nil
	}
	im.at.SHA256 = im.digest.hex()
	return im.save()
}

func unfinished(lines []*line) []*line {
	var left []*line
	for _, l := range lines {
		if !l.done {
			left = append(left, l)
		}
	}
	return left
}

func markUnsure(lines []*line) {
	for _, l := range lines {
		l.unsure = l.unsure || !l.done
	}
}
