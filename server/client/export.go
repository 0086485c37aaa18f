package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/vitrine-dev/vitrine/internal/text"
)

// ErrTruncated means that an export ended early, so the written lines are incomplete.
var ErrTruncated = errors.New("the export ended early")

// UnreadableError means that an export has finished, but lacks items that the server cannot read.
type UnreadableError struct {
	Items int64
	// IDs contains ranges of ids in which no item was exported, such as "7, 1200-1231". The unreadable items are in these ranges. If there
	// are too many ranges, it contains only the first ones.
	IDs string
}

// Error returns the number of missing items and the ranges of their ids.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("the export lacks %s that the server cannot read, with ids in these ranges: %s", text.Plural(e.Items, "item"), e.IDs)
}

// Export writes every item that matches a query, in the order of the ids. An empty query matches all items. Each item is one line of NDJSON
// in the format of Import. Export needs a READ-WRITE token, because a line contains submissions and tags. If progress is not nil, Export
// calls it from time to time with the numbers of lines and bytes written so far. Export returns the number of lines. After the response has
// begun, Export does not retry, so an error leaves a partial export. An *UnreadableError means that the export contains every item except
// those that the server cannot read.
func (c *Client) Export(ctx context.Context, w io.Writer, query string, progress func(lines, bytes int64)) (int64, error) {
	v := url.Values{}
	if query != "" {
		v.Set("q", query)
	}
	resp, err := c.send(ctx, call{path: "/v2/content/bulk", query: v, trailer: true})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var lines, written int64
	var last byte = '\n'
	buf := make([]byte, 128<<10)
	for {
		n, rerr := resp.Body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return lines, fmt.Errorf("write the export: %w", err)
			}
			lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
			written += int64(n)
			last = buf[n-1]
			if progress != nil {
				progress(lines, written)
			}
		}
		switch {
		case errors.Is(rerr, io.EOF) && last == '\n':
			return lines, checkTrailer(resp)
		case errors.Is(rerr, io.EOF):
			return lines, fmt.Errorf("%w in line %d", ErrTruncated, lines+1)
		case rerr != nil:
			return lines, fmt.Errorf("%w after line %d: %w", ErrTruncated, lines, rerr)
		}
	}
}

// These are the trailers of an export: the number of items that the export lacks because the server cannot read them, and ranges of ids
// that contain these items.
const (
	unreadableHeader    = "X-Vitrine-Unreadable"
	unreadableIDsHeader = "X-Vitrine-Unreadable-Ids"
)

// checkTrailer reads the trailer of a complete export. If the response announces no trailer, no items are missing.
func checkTrailer(resp *http.Response) error {
	if _, announced := resp.Trailer[unreadableHeader]; !announced {
		return nil
	}
	items, err := strconv.ParseInt(resp.Trailer.Get(unreadableHeader), 10, 64)
	switch {
	case err != nil:
		return fmt.Errorf("%w: its trailer is missing; a proxy may have removed it", ErrTruncated)
	case items > 0:
		return &UnreadableError{Items: items, IDs: resp.Trailer.Get(unreadableIDsHeader)}
	}
	return nil
}
