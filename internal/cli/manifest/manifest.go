// Package manifest reads Kubernetes manifests from files, folders and standard input, and records the position of each member. It checks
// only that the files are valid YAML or JSON.
//
// It may import internal/cli/textinput and the libraries of Kubernetes.
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/internal/cli/textinput"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// maxBytes is the maximum size of a file in bytes. It is far above the size of any real manifest.
const maxBytes = 32 << 20

// Object is one object of a manifest.
type Object struct {
	*unstructured.Unstructured
	file *file
	node *yaml.Node // the mapping of the object
}

// Problem describes a file, or a part of a file, that is not a valid manifest.
type Problem struct {
	Place   Place
	Message string
}

// file is the text of a file, split into lines.
type file struct {
	path  string
	lines []string
}

// Files replaces each folder in paths with the *.yaml, *.yml and *.json files below the folder, except hidden ones, sorted by name. It
// returns the path of a file unchanged. It also returns Stdin unchanged.
func Files(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		if path == Stdin {
			files = append(files, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("find the manifests: %w", err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		// Resolve the path first, because WalkDir does not follow a symbolic link at its root.
		root, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, fmt.Errorf("find the manifests: %w", err)
		}
		err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			hidden := strings.HasPrefix(d.Name(), ".") && name != root
			switch {
			case hidden && d.IsDir():
				return fs.SkipDir
			case hidden || d.IsDir():
			case slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
				files = append(files, filepath.Join(path, strings.TrimPrefix(name, root)))
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("find the manifests: %w", err)
		}
	}
	return files, nil
}

// Read returns those objects in the files for which selects returns true. Each argument of selects can be "". The members of a list, such as
// a List or a ContentFilterList, are separate objects. A file that is too large or that textinput cannot decode results in a Problem, and so
// does a document that is not valid YAML or not an object. If a file cannot be read, Read returns an error.
func Read(files []string, stdin io.Reader, selects func(apiVersion, kind string) bool) ([]Object, []Problem, error) {
	var objects []Object
	var problems []Problem
	for _, path := range files {
		text, err := readFile(path, stdin)
		if path == Stdin {
			path = "stdin"
		}
		f := &file{path: filepath.ToSlash(path)}
		if wrong := (*textinput.Error)(nil); errors.As(err, &wrong) {
			problems = append(problems, Problem{f.place(1, 1), "the file " + wrong.Reason})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if len(text) > maxBytes {
			problems = append(problems, Problem{f.place(1, 1), fmt.Sprintf("the file has more than %d MiB, which is too large for manifests", maxBytes>>20)})
			continue
		}
		f.lines = strings.Split(string(text), "\n")
		for _, d := range split(text) {
			found, wrong := f.document(d)
			problems = append(problems, wrong...)
			for _, o := range found {
				if selects(o.GetAPIVersion(), o.GetKind()) {
					objects = append(objects, o)
				}
			}
		}
	}
	return objects, problems, nil
}

// readFile returns the content of a file in UTF-8, but at most maxBytes+1 bytes.
func readFile(path string, stdin io.Reader) ([]byte, error) {
	from := stdin
	if path != Stdin {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read a manifest: %w", err)
		}
		defer f.Close()
		from = f
	}
	content, _, err := textinput.Open(path, from)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(content, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", path, err)
	}
	return text, nil
}

// document is one document of a YAML stream.
type document struct {
	text  []byte
	first int // index of the document's first line in the file
}

// split splits a stream at lines of three dashes, which may be followed by a comment.
func split(text []byte) []document {
	var all []document
	current := document{}
	line := 0
	for l := range bytes.Lines(text) {
		line++
		if rest, ok := bytes.CutPrefix(l, []byte("---")); ok && (len(bytes.TrimSpace(rest)) == 0 || bytes.TrimSpace(rest)[0] == '#') {
			all = append(all, current)
			current = document{first: line}
			continue
		}
		current.text = append(current.text, l...)
	}
	return append(all, current)
}

const noObject = "a manifest must be a mapping with apiVersion, kind and metadata"

// document reads the objects of one document.
func (f *file) document(d document) ([]Object, []Problem) {
	if objects, problems, ok := f.json(d); ok {
		return objects, problems
	}
	asJSON, err := sigsyaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return nil, []Problem{f.problem(d, err)}
	}
	var content any
	if err := utiljson.Unmarshal(asJSON, &content); err != nil {
		return nil, []Problem{f.problem(d, err)}
	}
	members, ok := content.(map[string]any)
	if !ok {
		if content == nil {
			return nil, nil // the document contains only comments
		}
		return nil, []Problem{f.problem(d, errors.New(noObject))}
	}
	// Parse the document again with positions. If this parser fails although the first parser succeeded, use the position of the document
	// for all members.
	var root yaml.Node
	var node *yaml.Node
	if yaml.Unmarshal(d.text, &root) == nil && len(root.Content) == 1 {
		node = root.Content[0]
		shift(node, d.first, map[*yaml.Node]bool{})
	} else {
		node = &yaml.Node{Line: d.first + 1, Column: 1}
	}
	return f.objects(members, node)
}

// objects returns an object, or the members of a list, and a problem for each member that is not an object. As for kubectl, a list is an
// object with items whose kind ends with List. The members of a typed list, such as a ContentFilterList, can omit apiVersion and kind.
func (f *file) objects(members map[string]any, node *yaml.Node) ([]Object, []Problem) {
	o := Object{Unstructured: &unstructured.Unstructured{Object: members}, file: f, node: node}
	kind, isList := strings.CutSuffix(o.GetKind(), "List")
	if _, has := members["items"]; !isList || !has && kind != "" {
		return []Object{o}, nil
	}
	items, ok := members["items"].([]any)
	if !ok && members["items"] != nil {
		return nil, []Problem{{Place: o.Value("items"), Message: "the items of a " + o.GetKind() + " must be a list"}}
	}
	var all []Object
	var problems []Problem
	for i, m := range items {
		m, ok := m.(map[string]any)
		if !ok {
			problems = append(problems, Problem{Place: o.Value(fmt.Sprintf("items[%d]", i)), Message: noObject})
			continue
		}
		_, hasVersion := m["apiVersion"]
		_, hasKind := m["kind"]
		if !hasVersion && !hasKind && kind != "" {
			m["apiVersion"], m["kind"] = o.GetAPIVersion(), kind
		}
		found, wrong := f.objects(m, o.find([]string{"items", fmt.Sprintf("[%d]", i)}).value)
		all, problems = append(all, found...), append(problems, wrong...)
	}
	return all, problems
}

// problem converts an error of a YAML parser to a Problem. It takes the line number, which is relative to the document, from the text of
// the error.
func (f *file) problem(d document, err error) Problem {
	message := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	line := 1
	if _, scanErr := fmt.Sscanf(message, "yaml: line %d:", &line); scanErr == nil {
		_, message, _ = strings.Cut(strings.TrimPrefix(message, "yaml: line "), ": ")
	} else if _, rest, ok := strings.Cut(message, "\n  line "); ok {
		if _, scanErr := fmt.Sscanf(rest, "%d:", &line); scanErr == nil {
			_, message, _ = strings.Cut(rest, ": ")
		}
	}
	return Problem{Place: f.place(d.first+line, 1), Message: strings.TrimSpace(message)}
}

// shift adds lines, the number of lines before a document, to the line number of each node of the document.
func shift(n *yaml.Node, lines int, done map[*yaml.Node]bool) {
	if n == nil || done[n] {
		return
	}
	done[n] = true
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines, done)
	}
}
