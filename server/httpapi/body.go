package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/problems"
)

// maxBody is the maximum length of a body, and of a line of a bulk import, in bytes (docs/http-api.md, "Import and export").
const maxBody = 1 << 20

// maxTagged is the maximum number of items in one request to add a tag. The specification sets no limit. This one is the same as in a Tag
// manifest.
const maxTagged = 10_000

// plain refuses a body with a Content-Encoding. Without this check, the caller would get a misleading error about invalid JSON.
func (x *exchange) plain() error {
	coding := strings.TrimSpace(x.r.Header.Get("Content-Encoding"))
	if coding == "" || strings.EqualFold(coding, "identity") {
		return nil
	}
	return &problem{Type: problems.InvalidBody, Detail: "the server does not accept a Content-Encoding for request bodies: send the body uncompressed"}
}

// body reads the whole body of the request. It fails with status 413 if the body is too long. If Content-Length already exceeds the limit,
// it does not read the body. It fails with errRevoked if the token has lost its rights, because a caller can send a body slowly.
func (x *exchange) body() ([]byte, error) {
	if err := x.plain(); err != nil {
		return nil, err
	}
	if x.r.ContentLength > maxBody {
		return nil, fmt.Errorf("read the body: %w", &http.MaxBytesError{Limit: maxBody})
	}
	b, err := io.ReadAll(http.MaxBytesReader(x.ResponseWriter, x.r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", badBody(err))
	}
	return b, x.stillValid()
}

// badBody returns the problem for an error of reading the body. A body that is too long gets a different problem than a body that ended
// early or has broken framing. All of these are errors of the caller.
func badBody(err error) error {
	if p := problemOf(err); p.Type != problems.Internal {
		return err
	}
	return &problem{Type: problems.InvalidBody, Detail: "the body is incomplete, or its transfer encoding is not valid"}
}

// members reads the body as a JSON object. Unknown members are ignored.
func (x *exchange) members() (object, error) {
	body, err := x.body()
	if err != nil {
		return nil, err
	}
	if err := item.CheckJSON(body); err != nil {
		return nil, err
	}
	var o object
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\uFEFF")), &o); err != nil || o == nil {
		return nil, &problem{Type: problems.InvalidBody, Detail: "the body must be one JSON object"}
	}
	return o, nil
}

// object is a JSON object with undecoded members.
type object map[string]json.RawMessage

// text reads a required string of at most the given length in bytes (most). A blank string counts as missing.
func (o object) text(name string, most int) (string, error) {
	raw, ok := o[name]
	if !ok || string(raw) == "null" {
		return "", lacking(name)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", &problem{Type: problems.InvalidBody, Member: name, Detail: fmt.Sprintf("member %q must be a string", name)}
	}
	if strings.TrimSpace(s) == "" {
		return "", lacking(name)
	}
	if len(s) > most {
		return "", &problem{Type: problems.Unacceptable, Member: name, Detail: fmt.Sprintf("member %q has more than %d bytes", name, most)}
	}
	return s, nil
}

// ids reads a required array of item ids and removes duplicates. An empty array counts as missing. The result includes integers outside the
// range of ids, because they are well-formed, although no item has them.
func (o object) ids(name string) ([]item.ID, error) {
	raw, ok := o[name]
	if !ok || string(raw) == "null" {
		return nil, lacking(name)
	}
	wrong := &problem{Type: problems.InvalidBody, Member: name, Detail: fmt.Sprintf("member %q must be an array of whole numbers", name)}
	var numbers []json.RawMessage
	if err := json.Unmarshal(raw, &numbers); err != nil {
		return nil, wrong
	}
	if len(numbers) == 0 {
		return nil, lacking(name)
	}
	if len(numbers) > maxTagged {
		return nil, &problem{Type: problems.Unacceptable, Member: name, Detail: fmt.Sprintf("member %q has more than %d ids: send them in several requests", name, maxTagged)}
	}
	ids := make([]item.ID, 0, len(numbers))
	seen := make(map[item.ID]bool, len(numbers))
	for _, n := range numbers {
		var id item.ID
		if err := json.Unmarshal(n, &id); err != nil {
			// Accept 1.0 and 1e3, which are integers, and numbers beyond 64 bits.
			var f float64
			if n[0] == '"' || n[0] == 'n' || json.Unmarshal(n, &f) != nil || f != math.Trunc(f) {
				return nil, wrong
			}
			if math.Abs(f) > item.MaxID {
				return nil, &problem{Type: problems.Unacceptable, Member: name, Detail: fmt.Sprintf("member %q contains %s, but an id must be from 1 to 2^53-1", name, clip(string(n), 40))}
			}
			id = item.ID(f)
		} else if n[0] == 'n' {
			return nil, wrong
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// impossible returns the ids that are outside the range of item ids.
func impossible(ids []item.ID) []item.ID {
	return slices.DeleteFunc(slices.Clone(ids), item.ValidID)
}

func lacking(name string) error {
	return &problem{Type: problems.InvalidBody, Member: name, Detail: fmt.Sprintf("member %q is required", name)}
}
