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

	"github.com/vitrine-dev/vitrine/server/item"
)

// OnConflict says how to handle a line whose id exists in the property.
type OnConflict string

// The ways to handle a line whose id exists.
const (
	// Fail reports the line as failed and keeps the item. It is the default.
	Fail OnConflict = "fail"
	// Replace replaces the item.
	Replace OnConflict = "replace"
	// Skip skips the line and keeps the item.
	Skip OnConflict = "skip"
)

// Unanswered says how to handle a line without an id if the server's answer to it was lost. The line may have been added,
// and a retry would then add it twice. (A line with an id can always be retried.)
type Unanswered string

// The ways to handle a line whose answer was lost.
const (
	// Stop ends the import with an *UnansweredError. It is the default.
	Stop Unanswered = "stop"
	// Resend retries the line, which may add it twice.
	Resend Unanswered = "resend"
	// PassOver does not retry the line, which may then be missing.
	PassOver Unanswered = "skip"
)

// ImportOptions configures an import. The zero value works.
type ImportOptions struct {
	OnConflict OnConflict
	Unanswered Unanswered
	// Resume continues an earlier import of the same input, which must be passed from its start.
	Resume *Checkpoint
	// ChunkLines is the maximum number of lines in one request. A request also gets no further line once it has ChunkBytes
	// bytes. Defaults: 1,000 and 4 MiB.
	ChunkLines, ChunkBytes int
	// GiveUpAfter is how long to retry without an answer to any line. Default: 5 minutes.
	GiveUpAfter time.Duration
	// Save, if not nil, is called before each request and after each answer with a Checkpoint that Resume accepts. An error
	// ends the import.
	Save func(Checkpoint) error
	// Failed, if not nil, is called for each line that was not stored, in the order of the lines within a request.
	Failed func(LineError)
	// Retrying, if not nil, is called when a request failed, with the delay before the retry.
	Retrying func(err error, in time.Duration)
}

// Checkpoint is the progress of an import.
type Checkpoint struct {
	// Lines is the number of leading lines that are finished: stored, passed over or permanently failed.
	Lines int64 `json:"lines"`
	// Bytes is the length of these lines, and SHA256 the lower-case hex digest of their bytes.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Sent is the last line that was ever sent. The lines after Lines, up to Sent, may have been stored.
	Sent int64 `json:"sent"`
	// These members count Lines by outcome. Created and Replaced lines were stored. Present lines were passed over because their id exists.
	// Unknown lines have no id, and were passed over because the answer was lost (PassOver). Failed lines were refused. Blank lines are not
	// counted.
	Created  int64 `json:"created"`
	Replaced int64 `json:"replaced"`
	Present  int64 `json:"present"`
	Unknown  int64 `json:"unknown"`
	Failed   int64 `json:"failed"`
}

// LineError says why a line was not stored.
type LineError struct {
	// Line counts from 1, including blank lines.
	Line int64
	// Status is the HTTP status of the line.
	Status int
	// Reason describes the error, such as "content.text: …".
	Reason string
}

func (e LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// UnansweredError says that the import stopped at lines that may or may not have been added; see Unanswered.
type UnansweredError struct {
	// First and Last are the first and last such line; Count is the number of them.
	First, Last, Count int64
}

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("the server's response to lines %d to %d was lost, and %d of them have no id: they may have been added already", e.First, e.Last, e.Count)
}

// ErrChanged means that the input differs from that of the import to resume.
var ErrChanged = errors.New("the lines already imported differ from the start of this input")

// maxLine is the maximum length of one line of a bulk request, in bytes (docs/http-api.md, "Import and export").
const maxLine = 1 << 20

// Import reads NDJSON and stores each line as an item through POST /v2/content/bulk (extension), in requests of bounded
// size. The server decides on each line separately; Import counts refused lines and passes them to Failed. It retries, as
// long as GiveUpAfter permits, if the connection is lost or the server responds with 429 or 503. When ctx ends, the current
// request has another 10 seconds, so that its answers are not lost. Import returns its progress, from which Resume can
// continue after an error. It needs a READ-WRITE token.
func (c *Client) Import(ctx context.Context, r io.Reader, o ImportOptions) (Checkpoint, error) {
	im, err := newImporter(c, r, o)
	if err != nil {
		return Checkpoint{}, err
	}
	for {
		chunk, err := im.lines.chunk(im.o.ChunkLines, im.o.ChunkBytes)
		if err != nil {
			return im.at, fmt.Errorf("read line %d: %w", im.lines.number+1, err)
		}
		if len(chunk) == 0 {
			return im.at, nil
		}
		if err := im.store(ctx, chunk); err != nil {
			return im.at, err
		}
	}
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

// resume skips the lines that an earlier import finished. It fails if they differ.
func (im *importer) resume(at Checkpoint) error {
	for im.lines.number < at.Lines {
		l, err := im.lines.next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: it has %d lines instead of %d", ErrChanged, im.lines.number, at.Lines)
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

// store sends the lines of a chunk until all are answered.
func (im *importer) store(ctx context.Context, chunk []*line) error {
	for _, l := range chunk {
		switch {
		case l.number <= im.at.Sent:
			l.unsure = true // an earlier run sent it
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

// settle is called before the import gives up. If no line is in doubt, it saves a checkpoint that says so.
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

// settleUnsure handles lines that may have been stored. Lines with an id can be retried, because the server then reports
// that the id exists. Unanswered decides about the others.
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

// request sends lines once and processes the answers as they arrive. After an error, unanswered lines are unfinished, and
// also unsure unless the server certainly did nothing.
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
	resp, err := im.client.once(ctx, call{method: http.MethodPost, path: "/v2/content/bulk", query: v}, &body, int64(body.Len()))
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
			return fmt.Errorf("the server responded to line %d of a request of %d lines", a.Line, len(lines))
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
		return &url.Error{Op: "Read", URL: "/v2/content/bulk", Err: fmt.Errorf("%d lines got no response: %w", len(left), io.ErrUnexpectedEOF)}
	}
	return nil
}

// lastRequest is how long the current request may continue after the import was cancelled, so that its answers are not
// lost.
const lastRequest = 10 * time.Second

// outlive returns a context that ends later than ctx by the given duration.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, func() { stop(); cancel() }
}

// answered processes the answer to one line. It returns a problem that is not the line's fault: the line may be accepted
// later.
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
		// Nothing was stored. Forbidden means that the token was revoked during the import, which is not the line's fault.
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

// advance moves the checkpoint past the leading finished lines of the chunk.
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
