package httpapi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/coding"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
	"github.com/vitrine-dev/vitrine/server/query"
)

// lineAnswer is one line in the response to an import.
type lineAnswer struct {
	Line    int64            `json:"line"`
	Status  int              `json:"status"`
	ID      item.ID          `json:"id,omitempty"`
	Problem *problemDocument `json:"problem,omitempty"`
}

// importItems answers POST /v2/content/bulk (extension). It reads and writes NDJSON. While the caller is still sending the body,
// importItems sends one answer for each line that is not blank, in the order of the lines.
func (s *Server) importItems(x *exchange) error {
	mode, err := x.optional("on_conflict")
	if err != nil {
		return err
	}
	if mode != "" && mode != "fail" && mode != "replace" {
		return invalid("on_conflict", `must be "fail" or "replace"`)
	}
	if x.scope != nil {
		return &problem{Type: problems.ClassRefused, Detail: "a token with a query cannot import: ids in lines would reveal which other items exist"}
	}
	if err := x.plain(); err != nil {
		return err
	}
	conn := http.NewResponseController(x.ResponseWriter)
	// Ignore the errors of all calls of conn. They only mean that a function is not supported: HTTP/2 is always full duplex, and the
	// connections in tests have no deadlines.
	_ = conn.EnableFullDuplex()
	imp := &bulkImport{x: x, conn: conn, replace: mode == "replace"}

	lines := newBacklog(s.slow.Load())
	received := make(chan struct{})
	go func() {
		defer close(received)
		imp.receive(lines)
	}()
	// Wait for receive, because nothing may read the body after the handler has returned.
	defer func() {
		lines.abandon()
		select {
		case <-received:
		default:
			_ = conn.SetReadDeadline(time.Now())
			<-received
		}
		_ = conn.SetWriteDeadline(time.Time{})
	}()

	h := x.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Cache-Control", "private, no-store")
	x.WriteHeader(http.StatusOK)
	imp.flush()
	defer func() {
		if imp.created+imp.replaced > 0 {
			x.audit("import", slog.Int64("created", imp.created), slog.Int64("replaced", imp.replaced), slog.Int64("refused", imp.refused))
		}
	}()
	return imp.answer(lines)
}

// errRevoked ends a long request whose token is no longer valid or no longer has the same rights, because both must take effect within a
// second.
var errRevoked = &problem{Type: problems.TokenRefused, Detail: "the access token was revoked, has expired or has got other rights during the request"}

type bulkImport struct {
	x       *exchange
	conn    *http.ResponseController
	replace bool
	// took is the duration of the last write.
	took time.Duration
	// created, replaced and refused are the numbers of answered lines.
	created, replaced, refused int64
}

// receive reads and parses lines until the body ends or the backlog is abandoned. It adds them to the backlog, so that one connection keeps
// two processors busy: a batch is written while the next lines are parsed.
func (b *bulkImport) receive(lines *backlog) {
	defer lines.finish()
	r := bufio.NewReaderSize(b.x.r.Body, 64<<10)
	for number := int64(1); ; number++ {
		_ = b.conn.SetReadDeadline(time.Now().Add(b.x.server.options.StreamIdle))
		text, err := readLine(r)
		if err == nil && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if errors.Is(err, io.EOF) {
			// Remove the deadline, because the connection is used for further requests.
			_ = b.conn.SetReadDeadline(time.Time{})
			return
		}
		l := bulkLine{number: number, size: len(text)}
		switch {
		case errors.Is(err, errLongLine):
			l.refused = &problem{Type: problems.TooLarge, Detail: fmt.Sprintf("the line is longer than the limit of %d bytes", maxBody)}
		case err != nil:
			l.broken = err
		default:
			l.mutation, l.refused = b.mutation(text)
		}
		if !lines.put(l) || l.broken != nil {
			return
		}
	}
}

var errLongLine = errors.New("line too long")

// readLine reads a line, and returns it without its line end. If a line is longer than maxBody, readLine skips to its end and returns
// errLongLine.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(bytes.TrimRight(part, "\r\n")) > maxBody; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0 && !long):
			return nil, err
		case long:
			return nil, errLongLine
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// answer writes batches of lines and answers them, until the backlog has no more lines.
func (b *bulkImport) answer(lines *backlog) error {
	for {
		batch := lines.take()
		if batch == nil {
			return nil
		}
		err := b.store(batch)
		lines.wrote(b.took)
		b.x.server.slow.Store(b.took > slowWrite)
		if errors.Is(err, errRevoked) {
			return nil // the answer to each line contains the reason
		}
		if err != nil {
			return err
		}
	}
}

// store writes a batch and answers its lines. An error ends the import. The lines that have no answer yet may or may not have been stored.
func (b *bulkImport) store(batch []bulkLine) error {
	answers := make([]lineAnswer, len(batch))
	var muts []library.Mutation
	var of []int // muts[i] is from batch[of[i]]
	var broken error
	invalid := b.x.stillValid()
	for i, l := range batch {
		answers[i].Line = l.number
		switch {
		case l.broken != nil:
			broken = l.broken
			answers = answers[:i]
		case invalid != nil:
			b.refuse(&answers[i], invalid)
		case l.refused != nil:
			b.refuse(&answers[i], l.refused)
		default:
			muts, of = append(muts, l.mutation), append(of, i)
		}
	}
	if len(muts) > 0 {
		began := time.Now()
		outcomes, err := b.x.server.lib.Write(b.x.r.Context(), b.x.grant.property, muts)
		b.took = time.Since(began)
		b.x.logDisk(err)
		for i, at := range of {
			switch {
			case err != nil:
				b.refuse(&answers[at], err)
			case outcomes[i].Err != nil:
				b.refuse(&answers[at], outcomes[i].Err)
			default:
				answers[at].ID = outcomes[i].ID
				if outcomes[i].Created {
					answers[at].Status = http.StatusCreated
					b.created++
				} else {
					answers[at].Status = http.StatusOK
					b.replaced++
				}
			}
		}
		if ctx := b.x.r.Context(); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := b.send(answers); err != nil {
		return err
	}
	if broken != nil {
		return fmt.Errorf("receive a line: %w", badBody(broken))
	}
	if errors.Is(invalid, errRevoked) {
		return invalid
	}
	return nil
}

// mutation returns the mutation that one line requests. A panic becomes an error, because net/http recovers only the panics of the handler's
// own goroutine.
func (b *bulkImport) mutation(text []byte) (m library.Mutation, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("parse the line: panic: %v", cause)
		}
	}()
	line, err := item.ParseLine(text, b.x.server.parseOptions())
	if err != nil {
		return library.Mutation{}, err
	}
	return library.Mutation{Put: line.Item, Units: line.Units, Replace: b.replace, By: b.x.actor()}, nil
}

// refuse sets the status and the problem of a line that was not stored.
func (b *bulkImport) refuse(a *lineAnswer, err error) {
	p := b.x.problemOf(err)
	if p.Type == problems.Internal {
		b.x.server.options.Logger.ErrorContext(b.x.r.Context(), "cannot import a line", "request", b.x.id, "line", a.Line, "error", b.x.redact(err.Error()))
	}
	b.refused++
	d := p.document(b.x.redact)
	a.Status, a.Problem = d.Status, &d
}

func (b *bulkImport) send(answers []lineAnswer) error {
	var out bytes.Buffer
	for _, a := range answers {
		out.Write(marshal(a))
		out.WriteByte('\n')
	}
	// A client that never reads must not block the handler permanently.
	_ = b.conn.SetWriteDeadline(time.Now().Add(b.x.server.options.StreamIdle))
	if _, err := b.x.Write(out.Bytes()); err != nil {
		return fmt.Errorf("send the response: %w", err)
	}
	b.flush()
	return nil
}

// flush sends the buffered output. A connection that does not support flushing sends its output when its buffer is full.
func (b *bulkImport) flush() { _ = b.conn.Flush() }

// propertyHeader is a header of the response to an export. Its value is the property of the token. Only READ-WRITE tokens can export.
const propertyHeader = "X-Vitrine-Property"

// exportItems answers GET /v2/content/bulk (extension). It sends every item that matches q, or all items if there is no q, by id. Each item
// is a line that importItems accepts. If an export fails after the response has begun, exportItems aborts the connection, so that the
// caller cannot mistake the output for a complete export. If the library cannot read some items, the trailer lists them. If the caller
// accepts no trailers, exportItems aborts the connection after the last readable item.
func (s *Server) exportItems(x *exchange) error {
	if err := x.need(library.ReadPrivate, "an export contains private fields, so this operation"); err != nil {
		return err
	}
	root, err := x.queryParam("q")
	if err != nil {
		return err
	}
	root = x.scope.Narrow(root)
	done, err := x.grant.allowance.begin(s.options.QueriesPerToken)
	if err != nil {
		return err
	}
	defer done()
	conn := http.NewResponseController(x.ResponseWriter)
	var out io.Writer = x
	if x.r.Method == http.MethodHead {
		x.beginExport()
		return nil
	}
	var zip io.Closer
	if coding.Gzip(x.r.Header) {
		z := s.gzip.writer(x)
		defer s.gzip.pool.Put(z)
		out, zip = z, z
	}
	defer func() { _ = conn.SetWriteDeadline(time.Time{}) }()
	buffered := bufio.NewWriterSize(out, 64<<10)
	missing, err := s.exportLines(x, conn, buffered, root)
	if err != nil {
		return err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(s.options.StreamIdle)) // reading damaged items may have taken long
	err = buffered.Flush()
	if zip != nil {
		err = errors.Join(err, zip.Close())
	}
	if err != nil {
		return fmt.Errorf("send the export: %w", err)
	}
	x.endExport(conn, missing)
	return nil
}

// exportLines begins the response, and writes the items of the property that match root, or all items if root is nil. It returns the items
// that the library cannot read.
func (s *Server) exportLines(x *exchange, conn *http.ResponseController, w *bufio.Writer, root query.Node) (*unreadableItems, error) {
	begun := false
	missing := new(unreadableItems)
	for line, err := range s.lib.Export(x.r.Context(), x.grant.property, root) {
		if gone, ok := errors.AsType[*library.UnreadableItemError](err); ok {
			missing.add(gone)
			continue
		}
		if err != nil {
			return nil, err
		}
		missing.closeRange()
		if !begun {
			x.beginExport()
			begun = true
		}
		if w.Available() <= len(line) {
			if err := x.stillValid(); err != nil {
				return nil, err
			}
			_ = conn.SetWriteDeadline(time.Now().Add(s.options.StreamIdle))
		}
		// Ignore this error: if the first write fails, the second one fails too.
		_, _ = w.Write(line)
		if err := w.WriteByte('\n'); err != nil {
			return nil, fmt.Errorf("send the export: %w", err)
		}
	}
	if !begun {
		x.beginExport()
	}
	return missing, nil
}

// endExport reports the items that are missing from an export because they cannot be read.
func (x *exchange) endExport(conn *http.ResponseController, missing *unreadableItems) {
	if missing.count > 0 {
		x.server.options.Logger.ErrorContext(x.r.Context(), "an export lacks items that cannot be read", "request", x.id,
			"property", string(x.grant.property), "items", missing.count, "ids", missing.String(), "error", x.redact(missing.first.Error()))
	}
	switch {
	case acceptsTrailers(x.r.Header):
		h := x.Header()
		h.Set(unreadableHeader, strconv.FormatInt(missing.count, 10))
		if missing.count > 0 {
			h.Set(unreadableIDsHeader, missing.String())
		}
	case missing.count > 0:
		_ = conn.Flush() // send the readable items
		panic(http.ErrAbortHandler)
	}
}

// beginExport sends the status and the headers of the response to an export.
func (x *exchange) beginExport() {
	x.warn()
	h := x.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Cache-Control", "private, no-store")
	h.Set(propertyHeader, string(x.grant.property))
	if coding.Gzip(x.r.Header) {
		h.Set("Content-Encoding", "gzip")
	}
	if acceptsTrailers(x.r.Header) {
		h.Set("Trailer", unreadableHeader+", "+unreadableIDsHeader)
	}
	x.WriteHeader(http.StatusOK)
}

// These are the headers in the trailer of an export. The first contains the number of items that the export lacks because they cannot be
// read. The second contains ranges of ids with these items, as unreadableItems.String writes them.
const (
	unreadableHeader    = "X-Vitrine-Unreadable"
	unreadableIDsHeader = "X-Vitrine-Unreadable-Ids"
)

// acceptsTrailers reports whether a caller accepts trailers (header TE: trailers).
func acceptsTrailers(h http.Header) bool {
	for _, line := range h.Values("TE") {
		for coding := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(coding), "trailers") {
				return true
			}
		}
	}
	return false
}
