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
)

// ErrTruncated says that an export ended in the middle: what was written is not the whole.
var ErrTruncated = errors.New("the export ended early")

// UnreadableError says that an export has come to its end, but lacks items that the server cannot read.
type UnreadableError struct {
	Items int64
	// IDs are those of the items, as ranges that no exported item lies in, such as "7, 1200-1231". Of very many ranges it names the first.
	IDs string
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("the server cannot read %d items, which are missing from the export: %s", e.Items, e.IDs)
}

// ErrNoPropertyNamed says that a server does not name the property of a token, as servers before this version do not.
var ErrNoPropertyNamed = errors.New("the server does not say which property the access token belongs to: is it older than this client?")

// Property returns the property that the token belongs to, as the namespace/name of its manifest. It needs a READ-WRITE token:
// another one is a *Problem with the status 403.
func (c *Client) Property(ctx context.Context) (string, error) {
	nothing := url.Values{"q": {"id:0"}}
	resp, err := c.send(ctx, call{method: http.MethodGet, path: "/v2/content/bulk", query: nothing}, nil) //nolint:bodyclose // drain closes it
	if err != nil {
		return "", err
	}
	defer drain(resp.Body)
	name := resp.Header.Get("X-Vitrine-Property")
	if name == "" {
		return "", ErrNoPropertyNamed
	}
	return name, nil
}

// Export writes every item that matches a query ("" for all), by id, as one line of NDJSON each: what Import takes. It
// needs a READ-WRITE token, as submissions and tags are part of a line. progress, unless nil, is called now and then with
// the lines and bytes written so far. It returns the number of lines; an error after the first byte leaves part of the
// export written and is not tried again. With an *UnreadableError, everything that the server can read was written.
func (c *Client) Export(ctx context.Context, w io.Writer, query string, progress func(lines, bytes int64)) (int64, error) {
	v := url.Values{}
	if query != "" {
		v.Set("q", query)
	}
	resp, err := c.send(ctx, call{method: http.MethodGet, path: "/v2/content/bulk", query: v, trailer: true}, nil)
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

// The trailer of an export: how many items it lacks because the server cannot read them, and which.
const (
	unreadableHeader    = "X-Vitrine-Unreadable"
	unreadableIDsHeader = "X-Vitrine-Unreadable-Ids"
)

// checkTrailer reads the trailer of an export that has come to its end. A server that announces none has no unreadable items.
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
