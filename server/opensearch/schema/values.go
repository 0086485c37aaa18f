package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/fxamacker/cbor/v2"
)

// Number is an integer that a response contains as text.
type Number int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Number) UnmarshalText(text []byte) error {
	v, err := strconv.ParseInt(string(text), 10, 64)
	*n = Number(v)
	return err
}

// UnmarshalCBOR implements cbor.Unmarshaler.
func (n *Number) UnmarshalCBOR(data []byte) error {
	var text string
	if err := cbor.Unmarshal(data, &text); err != nil {
		return err
	}
	return n.UnmarshalText([]byte(text))
}

// SortValue is a sort value of a hit in the form in which OpenSearch writes it in JSON.
type SortValue struct{ json.RawMessage }

// cborFloat32 is the first byte of a 32-bit floating-point number, such as a score.
const cborFloat32 = 0xfa

// UnmarshalCBOR implements cbor.Unmarshaler.
func (v *SortValue) UnmarshalCBOR(data []byte) error {
	var decoded any
	if err := cbor.Unmarshal(data, &decoded); err != nil {
		return err
	}
	f, isFloat := decoded.(float64)
	switch {
	case isFloat && math.IsInf(f, 0):
		decoded = map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]
	case isFloat && data[0] == cborFloat32:
		decoded = json.Number(strconv.FormatFloat(f, 'g', -1, 32))
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		return fmt.Errorf("read a sort value: %w", err)
	}
	v.RawMessage = text
	return nil
}
