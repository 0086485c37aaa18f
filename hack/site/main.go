// Command site builds the documentation as HTML, without network access: a page for each Markdown file of docs, with the navigation of
// docs/README.md. It fails if a page is not in the navigation, or if a link or an anchor does not exist.
//
//	go -C hack/site run . [-docs DIR] [-to DIR]
package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// repository is the base URL of links to files that are not in docs.
const repository = "https://github.com/vitrine-dev/vitrine/blob/main/"

// index is the page with the navigation.
const index = "README.md"

//go:embed page.html
var layout string

//go:embed style.css
var style string

func main() {
	docs := flag.String("docs", "../../docs", "the directory of the pages")
	to := flag.String("to", "../../dist/site", "the directory to write")
	flag.Parse()
	n, err := build(*docs, *to)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d pages\n", *to, n)
}

// page is a Markdown file.
type page struct {
	name    string // path below docs, with slashes
	source  []byte
	root    ast.Node
	title   string
	anchors map[string]bool
	links   []string // destinations, as they are written in the source
}

// section is a part of the navigation.
type section struct {
	Title string
	Links []link
}

type link struct{ Title, Href string }

// External reports whether the link leads to another site.
func (l link) External() bool { return strings.Contains(l.Href, "://") }

// build writes the site and returns the number of its pages.
func build(docs, to string) (int, error) {
	pages, images, err := read(docs)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(append(checkLinks(pages), checkNavigation(pages)...)...); err != nil {
		return 0, err
	}
	sections := navigation(pages)
	if err := os.RemoveAll(to); err != nil {
		return 0, fmt.Errorf("remove the old site: %w", err)
	}
	parsed, err := template.New("page").Parse(layout)
	if err != nil {
		return 0, fmt.Errorf("parse the layout: %w", err)
	}
	for _, p := range pages {
		content, err := p.render()
		if err != nil {
			return 0, err
		}
		up := strings.Repeat("../", strings.Count(p.name, "/"))
		var out bytes.Buffer
		err = parsed.Execute(&out, map[string]any{
			"Title": p.title, "Style": template.CSS(style), "Sections": sections, "Up": up, "Here": target(p.name),
			"Content": template.HTML(content), "Source": repository + "docs/" + p.name, //nolint:gosec // our own pages
		})
		if err != nil {
			return 0, fmt.Errorf("write %s: %w", p.name, err)
		}
		if err := write(filepath.Join(to, target(p.name)), out.Bytes()); err != nil {
			return 0, err
		}
	}
	for _, name := range images {
		content, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil {
			return 0, fmt.Errorf("read an image: %w", err)
		}
		if err := write(filepath.Join(to, name), content); err != nil {
			return 0, err
		}
	}
	return len(pages), nil
}

func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // readable by all, because a web server reads it
		return fmt.Errorf("create a directory of the site: %w", err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil { //nolint:gosec // readable by all, because a web server reads it
		return fmt.Errorf("write a file of the site: %w", err)
	}
	return nil
}

// read returns the pages, and the names of the images.
func read(docs string) (pages map[string]*page, images []string, err error) {
	pages = map[string]*page{}
	err = filepath.WalkDir(docs, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(docs, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if ext := path.Ext(name); ext == ".svg" || ext == ".png" {
			images = append(images, name)
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		pages[name] = parse(name, source)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read docs: %w", err)
	}
	return pages, images, nil
}

// markdown parses and renders Markdown as GitHub does.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe())) // because the pages contain HTML comments

func parse(name string, source []byte) *page {
	p := &page{name: name, source: source, anchors: map[string]bool{}}
	p.root = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(anchors(p.anchors)))))
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // Walk never fails
		switch n := n.(type) {
		case *ast.Heading:
			if entering && n.Level == 1 && p.title == "" {
				p.title = plain(n, source)
			}
		case *ast.Link:
			if entering {
				p.links = append(p.links, string(n.Destination))
				n.Destination = []byte(resolve(name, string(n.Destination)))
			}
		}
		return ast.WalkContinue, nil
	})
	p.title = cmp.Or(p.title, name)
	return p
}

// plain returns the text of a node.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // Walk never fails
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// anchors gives headings the same fragments as GitHub. They consist of lowercase letters, digits, hyphens and underscores, and end with a
// number if a heading is repeated.
type anchors map[string]bool

// Generate implements parser.IDs.
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(string(value)))
	unique := id
	for i := 1; a[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", id, i)
	}
	a[unique] = true
	return []byte(unique)
}

// Put implements parser.IDs.
func (a anchors) Put(value []byte) { a[string(value)] = true }

// target returns the name of the HTML file of a page.
func target(name string) string {
	if path.Base(name) == index {
		return path.Join(path.Dir(name), "index.html")
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// resolve returns the destination of a link in the built site: the HTML file of a page, or the URL of a file in the repository.
func resolve(from, destination string) string {
	u, err := url.Parse(destination)
	if err != nil || u.Scheme != "" || u.Path == "" {
		return destination
	}
	file := path.Join("docs", path.Dir(from), u.Path)
	if !strings.HasPrefix(file, "docs/") || path.Ext(file) != ".md" {
		return repository + file
	}
	u.Path = path.Join(path.Dir(u.Path), target(path.Base(u.Path)))
	return u.String()
}

// checkLinks returns an error for each link to a page or a heading that does not exist. A test of hack/house checks links to other
// files.
func checkLinks(pages map[string]*page) (problems []error) {
	for _, p := range pages {
		for _, destination := range p.links {
			u, err := url.Parse(destination)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: the link %s is invalid: %w", p.name, destination, err))
				continue
			}
			name := p.name
			if u.Path != "" {
				name = path.Join(path.Dir(p.name), u.Path)
			}
			if u.Scheme != "" || path.Ext(name) != ".md" || strings.HasPrefix(name, "..") {
				continue
			}
			if to := pages[name]; to == nil {
				problems = append(problems, fmt.Errorf("%s: the link %s points to a page that does not exist", p.name, destination))
			} else if u.Fragment != "" && !to.anchors[u.Fragment] {
				problems = append(problems, fmt.Errorf("%s: the link %s points to a heading that does not exist", p.name, destination))
			}
		}
	}
	return problems
}

// navigation returns the sections of the index, with the pages to which they link.
func navigation(pages map[string]*page) []section {
	var sections []section
	root := pages[index]
	for n := root.root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			sections = append(sections, section{Title: plain(h, root.source)})
		}
		_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // Walk never fails
			if l, ok := n.(*ast.Link); ok && entering && len(sections) > 0 && n.Parent().Kind() == ast.KindTextBlock {
				last := &sections[len(sections)-1]
				last.Links = append(last.Links, link{plain(l, root.source), string(l.Destination)})
			}
			return ast.WalkContinue, nil
		})
	}
	return sections
}

// checkNavigation returns an error for each page to which an index does not link exactly once. The index of docs must also list the pages
// in subdirectories, except the pages in a subdirectory that has an index of its own.
func checkNavigation(pages map[string]*page) (problems []error) {
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		from := path.Join(path.Dir(name), index)
		if name == from || pages[from] == nil {
			from = index
		}
		if name == index {
			continue
		}
		places := 0
		for _, destination := range pages[from].links {
			if path.Join(path.Dir(from), destination) == name {
				places++
			}
		}
		if places != 1 {
			problems = append(problems, fmt.Errorf("%s links to %s %d times instead of exactly once", from, name, places))
		}
	}
	return problems
}

func (p *page) render() ([]byte, error) {
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, p.source, p.root); err != nil {
		return nil, fmt.Errorf("render %s: %w", p.name, err)
	}
	return out.Bytes(), nil
}
