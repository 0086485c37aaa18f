package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/hack/docblocks"
	"github.com/vitrine-dev/vitrine/server/library"
)

// These tests run the steps of action.yml and the job of templates/review/template.yml with the real programs, against a real server. They
// play the hosts: they evaluate the inputs, and answer the requests for comments.

// commentToken is the token that writes comments.
const commentToken = "test-token-of-the-host-that-must-never-be-logged"

// comment is a comment of a pull request. User is in the form of GitHub, and Author in the form of GitLab.
type comment struct {
	ID     int    `json:"id"`
	Body   string `json:"body"`
	User   author `json:"user"`
	Author author `json:"author"`
}

type author struct {
	ID   int    `json:"id"`
	Type string `json:"type"`
}

var bot, person = author{7, "Bot"}, author{8, "User"}

// reviewHost is a Git host with one pull request, and with the files of a release.
type reviewHost struct {
	gitlab bool
	url    string
	caFile string
	files  map[string][]byte // by name
	mu     sync.Mutex
	// comments are in the order in which they were created.
	comments []comment
	// broken makes every request for comments fail.
	broken bool
}

func (h *reviewHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	answer := func(status int, body any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	collection, object, update := "/repos/shop/content/issues/12/comments", "/repos/shop/content/issues/comments/", http.MethodPatch
	authorized := r.Header.Get("Authorization") == "Bearer "+commentToken
	if h.gitlab {
		collection, update = "/projects/34/merge_requests/12/notes", http.MethodPut
		object = collection + "/"
		authorized = r.Header.Get("PRIVATE-TOKEN") == commentToken
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/releases/v0.1.0/"); ok && h.files[name] != nil {
		_, _ = w.Write(h.files[name])
		return
	}
	var sent comment
	if r.Method == http.MethodPost || r.Method == update {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			answer(http.StatusBadRequest, map[string]string{"message": err.Error()})
			return
		}
	}
	id, isObject := strings.CutPrefix(r.URL.Path, object)
	i := slices.IndexFunc(h.comments, func(c comment) bool { return strconv.Itoa(c.ID) == id })
	switch {
	case !authorized:
		answer(http.StatusUnauthorized, map[string]string{"message": "Bad credentials"})
	case r.URL.Path == "/user" && h.gitlab:
		answer(http.StatusOK, bot)
	case r.URL.Path == "/user":
		answer(http.StatusForbidden, map[string]string{"message": "Resource not accessible by integration"})
	case h.broken:
		answer(http.StatusForbidden, map[string]string{"message": "comments are\nlocked"})
	case r.URL.Path == collection && r.Method == http.MethodGet:
		page, _ := strconv.Atoi(r.FormValue("page"))
		size, _ := strconv.Atoi(r.FormValue("per_page"))
		size = min(size, 100)
		from := min((page-1)*size, len(h.comments))
		answer(http.StatusOK, h.comments[from:min(from+size, len(h.comments))])
	case r.URL.Path == collection && r.Method == http.MethodPost:
		h.add(bot, sent.Body)
		answer(http.StatusCreated, sent)
	case isObject && i >= 0 && r.Method == update:
		h.comments[i].Body = sent.Body
		answer(http.StatusOK, h.comments[i])
	case isObject && i >= 0 && r.Method == http.MethodDelete:
		h.comments = slices.Delete(h.comments, i, i+1)
		w.WriteHeader(http.StatusNoContent)
	default:
		answer(http.StatusNotFound, map[string]string{"message": "Not Found"})
	}
}

func (h *reviewHost) add(by author, body string) {
	id := 1
	if n := len(h.comments); n > 0 {
		id = h.comments[n-1].ID + 1
	}
	h.comments = append(h.comments, comment{id, body, by, by})
}

// own returns the comments that the reviews wrote.
func (h *reviewHost) own() (own []comment) {
	for _, c := range h.comments {
		if c.User == bot {
			own = append(own, c)
		}
	}
	return own
}

// newHost starts a host. Its release contains a program that runs this test binary as vitrine.
func newHost(t *testing.T, gitlab bool) *reviewHost {
	t.Helper()
	for _, program := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil || runtime.GOOS != "linux" {
			t.Skip("the script needs Linux, bash, curl and jq")
		}
	}
	h := &reviewHost{gitlab: gitlab, files: map[string][]byte{}}
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	h.url, h.caFile = server.URL, filepath.Join(t.TempDir(), "ca.crt")
	script, err := os.ReadFile("../../templates/review/review.sh")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := errors.Join(err, os.WriteFile(h.caFile, ca, 0o600)); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	tarred := tar.NewWriter(zipped)
	program := recorded("vitrine", os.Args[0])
	err = tarred.WriteHeader(&tar.Header{Name: "vitrine", Mode: 0o755, Size: int64(len(program))})
	_, writeErr := tarred.Write([]byte(program))
	if err := errors.Join(err, writeErr, tarred.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	h.files["review.sh"] = script
	h.files["vitrine_v0.1.0_linux_"+runtime.GOARCH+".tar.gz"] = archive.Bytes()
	var sums strings.Builder
	for name, content := range h.files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
		fmt.Fprintf(&sums, "%x  kubectl-%s\n", sha256.Sum256(nil), name)
	}
	h.files["SHA256SUMS"] = []byte(sums.String())
	return h
}

// recorded returns a shell script that runs a program, and records its arguments and its environment in the folder $RECORDS.
func recorded(name, program string) string {
	return fmt.Sprintf("#!/bin/sh\necho \"%[1]s $*\" >>\"$RECORDS/arguments\"\nenv >>\"$RECORDS/%[1]s\"\n%[3]s=1 exec '%[2]s' \"$@\"\n", name, program, asCommand)
}

// expression matches the use of an input or of a value of the host.
var expression = regexp.MustCompile(`\$\{\{ ([a-z_.-]+) \}\}|\$\[\[ ([a-z_.-]+) \]\]`)

// evaluate replaces the expressions in text.
func evaluate(t *testing.T, text string, values map[string]string) string {
	t.Helper()
	return expression.ReplaceAllStringFunc(text, func(m string) string {
		groups := expression.FindStringSubmatch(m)
		name := cmp.Or(groups[1], groups[2])
		value, ok := values[name]
		if !ok {
			t.Errorf("%s has no value", m)
		}
		return value
	})
}

// declared is an input of the action or of the component.
type declared struct {
	Description, Type string
	Required          bool
	Default           any
}

// job is what a host runs.
type job struct {
	inputs    map[string]declared
	variables map[string]string
	shell     []string
	script    string
}

// parse reads the job of a host. values contains the inputs that a user sets.
func (h *reviewHost) parse(t *testing.T, values map[string]string) job {
	t.Helper()
	decode := func(text string, into any) {
		t.Helper()
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
	}
	file := "action.yml"
	if h.gitlab {
		file = "templates/review/template.yml"
	}
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	if h.gitlab {
		header, body, _ := strings.Cut(string(text), "\n---\n")
		var component struct {
			Spec struct{ Inputs map[string]declared }
		}
		var jobs map[string]struct {
			Stage, Image  string
			Rules         []map[string]string
			ResourceGroup string `json:"resource_group"`
			Variables     map[string]string
			Script        []string
		}
		decode(header, &component)
		for name, input := range component.Spec.Inputs {
			input.Required = input.Default == nil
			component.Spec.Inputs[name] = input
		}
		decode(evaluate(t, body, resolve(t, component.Spec.Inputs, values)), &jobs)
		run := jobs["vitrine-"+cmp.Or(values["name"], "content")]
		return job{component.Spec.Inputs, run.Variables, []string{"sh", "-e", "-c"}, strings.Join(run.Script, "\n")}
	}
	var action struct {
		Name, Description string
		Inputs            map[string]declared
		Runs              struct {
			Using string
			Steps []struct {
				Shell, Run string
				Env        map[string]string
			}
		}
	}
	decode(string(text), &action)
	step := action.Runs.Steps[0]
	for name, value := range step.Env {
		step.Env[name] = evaluate(t, value, resolve(t, action.Inputs, values))
	}
	return job{action.Inputs, step.Env, []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"}, step.Run}
}

// resolve returns the values of expressions.
func resolve(t *testing.T, inputs map[string]declared, values map[string]string) map[string]string {
	t.Helper()
	out := map[string]string{"github.token": commentToken, "github.event.pull_request.number": "12"}
	for name, input := range inputs {
		if _, ok := values[name]; input.Required && !ok {
			t.Errorf("the input %s is required", name)
		}
		if input.Default != nil {
			out["inputs."+name] = evaluate(t, fmt.Sprint(input.Default), out)
		}
	}
	for name, value := range values {
		if _, ok := inputs[name]; !ok {
			t.Errorf("there is no input %s", name)
		}
		out["inputs."+name] = value
	}
	return out
}

// review runs the job of the host in a folder. Variables are those that the job has in addition to its inputs.
func (h *reviewHost) review(t *testing.T, dir string, inputs map[string]string, variables ...string) result {
	t.Helper()
	records, bin := t.TempDir(), t.TempDir()
	root, err := filepath.Abs("../..")
	curl, lookErr := exec.LookPath("curl")
	if err := errors.Join(err, lookErr, os.WriteFile(filepath.Join(bin, "curl"), []byte(recorded("curl", curl)), 0o700)); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"version": "v0.1.0", "downloads": h.url + "/releases"}
	maps.Copy(all, inputs)
	j := h.parse(t, all)
	cmd := exec.CommandContext(t.Context(), j.shell[0], append(j.shell[1:], j.script)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "RECORDS=" + records, "CURL_CA_BUNDLE=" + h.caFile}
	if h.gitlab {
		cmd.Env = append(cmd.Env, "GITLAB_CI=true", "CI_API_V4_URL="+h.url, "CI_MERGE_REQUEST_PROJECT_ID=34", "CI_MERGE_REQUEST_IID=12")
	} else {
		cmd.Env = append(cmd.Env, "GITHUB_ACTIONS=true", "GITHUB_API_URL="+h.url, "GITHUB_REPOSITORY=shop/content", "GITHUB_ACTION_PATH="+root,
			"GITHUB_STEP_SUMMARY="+filepath.Join(records, "summary"))
	}
	for name, value := range j.variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, variables...)
	output, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code := cmd.ProcessState.ExitCode()
	reviewed := code == 0 || code == 7 // and not a failed download
	mayNotContain := map[string][]string{"arguments": {secret, commentToken}, "curl": {secret, commentToken}, "vitrine": {commentToken}}
	if h.gitlab {
		mayNotContain["curl"] = nil // the job downloads the script, and its variables are in the environment of all of its programs
	}
	for file, tokens := range mayNotContain {
		text, err := os.ReadFile(filepath.Join(records, file))
		if reviewed && err != nil {
			t.Error(err)
		}
		for _, token := range tokens {
			if bytes.Contains(text, []byte(token)) {
				t.Errorf("the records of %s contain a token", file)
			}
		}
	}
	if bytes.Contains(output, []byte(commentToken)) {
		t.Error("the token for comments was printed")
	}
	if summary, err := os.ReadFile(filepath.Join(records, "summary")); !h.gitlab && reviewed && (err != nil || !bytes.HasPrefix(summary, []byte("<!-- vitrine review: "))) {
		t.Errorf("the summary of the job: %.200s, error %v", summary, err)
	}
	return result{code: code, stdout: string(output)}
}

// rendered returns the text of a comment without its code, in which markup and mentions have no effect.
func rendered(t *testing.T, body string) string {
	t.Helper()
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(body) {
		text := strings.TrimRight(line, "\n")
		run := text[:len(text)-len(strings.TrimLeft(text, "`"))]
		switch {
		case fence != "" && text == run && len(run) >= len(fence):
			fence = ""
		case fence != "":
			if strings.Contains(text, fence) {
				t.Errorf("the fence %s is not longer than the backticks in %q", fence, text)
			}
		case len(run) >= 3:
			fence = run
		default:
			out.WriteString(withoutSpans(line))
		}
	}
	if fence != "" {
		t.Errorf("a block of code does not end in:\n%s", body)
	}
	return out.String()
}

// withoutSpans removes the inline code from a line.
func withoutSpans(line string) string {
	runs := regexp.MustCompile("`+").FindAllStringIndex(line, -1)
	for i, open := range runs {
		for _, end := range runs[i+1:] {
			if end[1]-end[0] == open[1]-open[0] {
				return line[:open[0]] + withoutSpans(line[end[1]:])
			}
		}
	}
	return line
}

// TestReview runs the action and the component on several commits of a pull request, in a repository with hostile content.
func TestReview(t *testing.T) {
	data := newStore(t)
	bring(t, data, map[string]library.Definition{"wall": storedFilter("wall", library.Filter{Query: "id:[1 TO 10]", Order: "id:asc"})})
	s := start(t, data)
	s.environment(t)
	const hostile = "``` @everyone </details><img src=x> $(touch pwned) `touch pwned`"
	encoded, err := json.Marshal("\n/close\n" + hostile)
	if err != nil {
		t.Fatal(err)
	}
	vitrine(t.Context(), strings.Replace(itemLines(1, 20), `"item number 12"`, string(encoded), 1), "import", "-").want(t, 0)
	valid := filterManifest("wall", "query: 'id:[4 TO 12]', sortBy: 'id:asc'")
	invalid := filterManifest("wall", "query: '(', sortBy: '````` "+hostile+"'")
	many := valid
	for i := range 300 {
		many += filterManifest(fmt.Sprintf("wall-%d", i), "query: '"+strings.Repeat("ж", 100)+fmt.Sprintf(":%d'", i))
	}
	inputs := map[string]string{"manifests": "content", "server": "https://" + s.addresses["https"], "console-url": "https://content.shop.example", "items": "9"}
	for name, gitlab := range map[string]bool{"GitHub": false, "GitLab": true} {
		t.Run(name, func(t *testing.T) {
			h, dir := newHost(t, gitlab), t.TempDir()
			const marker = "<!-- vitrine review: content -->\n"
			for i := range 250 {
				h.add(person, fmt.Sprint("comment ", i))
			}
			h.comments[3].Body = marker + "forged"
			forked := []string{"VITRINE_CA_FILE=" + filepath.Join(data, "tls", "ca.crt")}
			variables, all := forked, maps.Clone(inputs)
			if gitlab { // the tokens are variables of the project
				forked = append(forked, "VITRINE_COMMENT_TOKEN="+commentToken)
				variables = append(variables, "VITRINE_COMMENT_TOKEN="+commentToken, "VITRINE_TOKEN="+secret)
			} else {
				all["token"] = secret
			}
			// run reviews a commit, and returns the only comment of the reviews.
			run := func(manifests string, code int, inputs map[string]string, variables ...string) (string, result) {
				t.Helper()
				path := filepath.Join(dir, "content", "wall.yaml")
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(manifests), 0o600)); err != nil {
					t.Fatal(err)
				}
				got := h.review(t, dir, inputs, variables...)
				got.want(t, code)
				if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
					t.Fatal("the shell ran a command of the content")
				}
				own := h.own()
				if len(own) != 1 || !strings.HasPrefix(own[0].Body, marker) || h.comments[3].Body != marker+"forged" || len(h.comments) != 251 {
					t.Fatalf("%d comments, %d of them by reviews: %v\n%s", len(h.comments), len(own), own, got.stdout)
				}
				text := rendered(t, own[0].Body)
				if regexp.MustCompile(`(?m)@everyone|<img|^/close|\r|\x1b`).MatchString(text) {
					t.Errorf("content is markup in:\n%s", own[0].Body)
				}
				return own[0].Body, got
			}
			contains := func(text string, parts ...string) {
				t.Helper()
				for _, part := range parts {
					if !strings.Contains(text, part) {
						t.Errorf("no %q in:\n%.3000s", part, text)
					}
				}
			}

			body, _ := run(valid, 0, all, variables...)
			contains(body, "**The manifests are valid.**", "#### shop/wall (changed)", "**2 enter**", "@everyone", "](https://content.shop.example/console/filters/edit?")
			body, _ = run(strings.Replace(valid, "12", "11", 1), 0, all, variables...)
			contains(body, "**1 enters**")

			h.add(bot, marker+"by a run at the same time")
			h.add(bot, marker+"by another run at the same time")
			body, got := run(invalid, 7, all, variables...)
			contains(body, "**The manifests have errors.**", "ContentFilter shop/wall: spec.query: ", "@everyone", "not compared with the server, because they are not valid")
			contains(got.stdout, "ContentFilter shop/wall: spec.query: ")
			if !gitlab {
				contains(got.stdout, "\n::error file=content/wall.yaml,line=5,")
			}
			tolerant := maps.Clone(all)
			tolerant["fail-on-invalid"] = "false"
			run(invalid, 0, tolerant, variables...)

			body, _ = run(many, 0, all, variables...)
			contains(body, "contains only the beginning of the output")
			if n := utf8.RuneCountInString(body); n > 65536 {
				t.Errorf("a comment has %d characters", n)
			}

			// A pull request from a fork has no secrets.
			body, _ = run(valid, 0, inputs, forked...)
			contains(body, "**The manifests are valid.**", "the job has no token of the server")
			_, got = run(valid, 0, all, append(slices.Clone(variables), "VITRINE_COMMENT_TOKEN=")...)
			contains(got.stdout, "The comment could not be written: the job has no token for comments")

			// Neither a server nor a host that fails hides the result of the validation.
			body, _ = run(valid, 0, all, append(slices.Clone(variables), "VITRINE_CA_FILE="+h.caFile)...)
			contains(body, "**The manifests are valid.**", "**The comparison with the server failed.**", "vitrine: ")
			h.broken = true
			_, got = run(valid, 0, all, variables...)
			contains(got.stdout, "The comment could not be written: GET ", "status 403: comments are locked")
			run(invalid, 7, all, variables...)
		})
	}
}

// TestReviewDownload checks that a damaged download and a wrong version end the job with a reason.
func TestReviewDownload(t *testing.T) {
	inputs := map[string]string{"manifests": "content"}
	h := newHost(t, false)
	h.review(t, t.TempDir(), map[string]string{"manifests": "content", "version": "v0.2.0"}).want(t, 1, "cannot download vitrine_v0.2.0_linux_")
	h.review(t, t.TempDir(), map[string]string{"manifests": "content", "version": "main"}).want(t, 1, "version 'main': must be a release such as v0.1.0")
	for name := range h.files {
		if strings.HasPrefix(name, "vitrine_") {
			h.files[name] = append(h.files[name], 0)
		}
	}
	h.review(t, t.TempDir(), inputs).want(t, 1, "does not have the checksum in SHA256SUMS")
	// The job on GitLab also downloads the script.
	h = newHost(t, true)
	h.files["review.sh"] = append(h.files["review.sh"], "\necho forged"...)
	if got := h.review(t, t.TempDir(), inputs); got.code == 0 || !strings.Contains(got.stdout, "review.sh: FAILED") || strings.Contains(got.stdout, "forged") {
		t.Errorf("a damaged script: exit code %d\n%s", got.code, got.stdout)
	}
}

// TestReviewInputs compares the inputs of the action and of the component with the script and with docs/gitops.md.
func TestReviewInputs(t *testing.T) {
	script, err := os.ReadFile("../../templates/review/review.sh")
	page, pageErr := os.ReadFile("../../docs/gitops.md")
	if err := errors.Join(err, pageErr); err != nil {
		t.Fatal(err)
	}
	variables := map[string]bool{}
	code := regexp.MustCompile(`(?m)^#.*`).ReplaceAll(script, nil)
	for _, m := range regexp.MustCompile(`\$\{?((?:REVIEW|VITRINE)_[A-Z_]+)`).FindAllSubmatch(code, -1) {
		variables[string(m[1])] = true
	}
	examples := 0
	for _, document := range docblocks.YAML(string(page)) {
		var example struct {
			Jobs map[string]struct {
				Steps []struct {
					Uses string
					With map[string]string
				}
			}
			Include []struct {
				Remote string
				Inputs map[string]string
			}
		}
		if err := yaml.Unmarshal([]byte(document), &example); err != nil {
			t.Fatal(err)
		}
		var used []map[string]string
		for _, j := range example.Jobs {
			for _, step := range j.Steps {
				if strings.HasPrefix(step.Uses, "vitrine-dev/vitrine@") {
					used = append(used, step.With)
				}
			}
		}
		for _, include := range example.Include {
			used = append(used, include.Inputs)
		}
		for _, inputs := range used {
			examples++
			h := &reviewHost{gitlab: example.Include != nil}
			j := h.parse(t, inputs) // reports inputs that do not exist
			for name := range j.inputs {
				if !strings.Contains(string(page), "\n| `"+name+"` | ") {
					t.Errorf("docs/gitops.md does not explain the input %s", name)
				}
			}
			for name := range variables {
				ofProject := h.gitlab && slices.Contains([]string{"VITRINE_TOKEN", "VITRINE_COMMENT_TOKEN", "REVIEW_NUMBER"}, name)
				if _, ok := j.variables[name]; ok == ofProject {
					t.Errorf("gitlab %t: whether the job sets %s is %t", h.gitlab, name, ok)
				}
			}
			for name := range j.variables {
				if !variables[name] {
					t.Errorf("gitlab %t: the script does not read %s", h.gitlab, name)
				}
			}
		}
	}
	if examples != 2 {
		t.Errorf("docs/gitops.md has %d examples", examples)
	}
}
