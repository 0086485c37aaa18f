package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// Objects parses YAML documents. It omits empty documents. A duplicate key is an error.
func Objects(text []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("split the documents: %w", err)
		}
		asJSON, err := strict.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("read a document: %w\n%s", err, document)
		}
		if string(asJSON) == "null" {
			continue
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(asJSON); err != nil {
			return nil, fmt.Errorf("read an object: %w\n%s", err, document)
		}
		out = append(out, o)
	}
}
