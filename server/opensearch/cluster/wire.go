package cluster

import (
	"encoding/json"
	"net/http"

	"github.com/fxamacker/cbor/v2"
)

// object is a JSON object of a request.
type object = map[string]any

// Version identifies one state of a document.
type Version struct {
	Seq  int64 `json:"_seq_no"`
	Term int64 `json:"_primary_term"`
}

// decode decodes a response as JSON or CBOR, according to its Content-Type header.
func decode(header http.Header, data []byte, out any) error {
	if header.Get("Content-Type") == "application/cbor" {
		return cbor.Unmarshal(data, out)
	}
	return json.Unmarshal(data, out)
}
