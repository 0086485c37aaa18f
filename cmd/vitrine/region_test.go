package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// region is a server that a test kills and restarts at the same addresses.
type region struct{ *instance }

// regions are two regions, with a directory in which the scripts of docs/second-region.md run.
type regions struct {
	t       *testing.T
	first   region
	second  region
	dir     string
	env     []string
	scripts []string // the blocks of the page, in order
}

func newRegions(t *testing.T) *regions {
	t.Helper()
	for _, program := range []string{"bash", "curl", "flock", "jq"} {
		if _, err := exec.LookPath(program); err != nil || runtime.GOOS != "linux" {
			t.Skip("the script needs Linux, bash, curl, flock and jq")
		}
	}
	serve := func() region { return region{start(t, newStore(t), "--http-bind-address", "127.0.0.1:0")} }
	r := &regions{t: t, first: serve(), second: serve(), dir: t.TempDir()}
	program, err := filepath.Abs(os.Args[0])
	err = errors.Join(err, os.Symlink(program, filepath.Join(r.dir, "vitrine")))
	for name, s := range map[string]region{"first": r.first, "second": r.second} {
		err = errors.Join(err, os.Mkdir(filepath.Join(r.dir, name), 0o700))
		for key, value := range map[string]string{
			"url": "https://" + s.addresses["https"], "token": secret, "ca.crt": string(readFile(t, filepath.Join(s.dir, "tls", "ca.crt"))),
		} {
			err = errors.Join(err, os.WriteFile(filepath.Join(r.dir, name, key), []byte(value), 0o600))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	r.env = []string{asCommand + "=1", "HOME=" + r.dir, "PATH=" + r.dir + ":" + os.Getenv("PATH")}
	for _, m := range regexp.MustCompile("(?s)\n```bash\n(.*?)```\n").FindAllStringSubmatch(string(readFile(t, "../../docs/second-region.md")), -1) {
		r.scripts = append(r.scripts, m[1])
	}
	return r
}

// kill kills the server of a region. between runs before the restart.
func (s *region) kill(between func()) {
	s.t.Helper()
	s.signal(syscall.SIGKILL)
	between()
	s.instance = start(s.t, s.dir, "--https-bind-address", s.addresses["https"], "--http-bind-address", s.addresses["http"])
}

// request sends a request. The server can be down, so the result is whether it has responded with the status want.
func (s *region) request(method, path, body string, want int) bool {
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.addresses["http"]+path, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return false
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == want
}

// change sends a random request that creates, changes or erases items.
func (s *region) change(random *rand.Rand) {
	id := 1 + random.IntN(60)
	at := fmt.Sprintf("/v2/content/%d", id)
	switch random.IntN(6) {
	case 0:
		s.request(http.MethodDelete, at, "", http.StatusNoContent)
	case 1:
		s.request(http.MethodPatch, at, fmt.Sprintf(`{"submission":{"name":"guest %d"}}`, random.Int()), http.StatusOK)
	case 2:
		s.request(http.MethodPatch, at, `{"submission":null}`, http.StatusOK)
	case 3:
		s.request(http.MethodPost, "/v1/tags/", fmt.Sprintf(`{"ugc_ids":[%d],"namespace":"n","key":"k%d"}`, id, random.IntN(5)), http.StatusOK)
	case 4:
		s.request(http.MethodPost, "/v2/content/", `{"content_type":"text","caption":"new"}`, http.StatusCreated)
	case 5:
		s.request(http.MethodPost, "/v2/content/bulk?on_conflict=replace", itemLines(id, 1+random.IntN(5)), http.StatusOK)
	}
}

// rule stores the rule of a manifest, as the operators of both clusters do. The server must not run.
func (s *region) rule() {
	s.t.Helper()
	lib, err := reference.Open(reference.Options{Dir: s.dir})
	if err != nil {
		s.t.Fatal(err)
	}
	results, err := lib.Apply(s.t.Context(), []library.Definition{{
		Property: property, Owner: library.Owner{Install: "test", Kind: library.KindTag, Namespace: "shop", Name: "rule"},
		Tag: &library.TagRule{Tag: item.Tag{Namespace: "ruled", Key: "key"}, Selector: "text:number"},
	}})
	for _, result := range results {
		err = errors.Join(err, result.Err)
	}
	if err := errors.Join(err, lib.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// export returns the items without the times of their last changes.
func (s *region) export() string {
	s.t.Helper()
	s.environment(s.t)
	exported := vitrine(s.t.Context(), "", "export")
	exported.want(s.t, 0)
	return regexp.MustCompile(`"last_modified":"[^"]*",`).ReplaceAllString(exported.stdout, "")
}

// script returns a command that runs a block of the page in a process group of its own.
func (r *regions) script(block int) *exec.Cmd {
	cmd := exec.Command("bash", "-c", r.scripts[block])
	cmd.Dir, cmd.Env, cmd.SysProcAttr = r.dir, r.env, &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// follower runs the first script of the page, and restarts it whenever it ends, as Kubernetes does.
type follower struct {
	// lines receives a value when the script has printed a line, unless the previous value is still there.
	lines   chan struct{}
	kills   chan struct{}
	stopped chan struct{}
}

func (r *regions) follow() *follower {
	f := &follower{lines: make(chan struct{}, 1), kills: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(f.stopped)
		for f.once(r) {
		}
	}()
	r.t.Cleanup(func() {
		close(f.kills)
		<-f.stopped
	})
	return f
}

// once runs the script until it ends or is killed. It returns false after the last kill.
func (f *follower) once(r *regions) bool {
	cmd := r.script(0)
	out, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err = errors.Join(err, cmd.Start()); err != nil {
		r.t.Error(err)
		<-f.kills
		return false
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			r.t.Log(lines.Text())
			select {
			case f.lines <- struct{}{}:
			default:
			}
		}
	}()
	again := true
	select {
	case <-ended:
	case _, again = <-f.kills:
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	_ = cmd.Wait()
	return again
}

// TestSecondRegion runs the script of docs/second-region.md. It kills both servers and the script while items and rules change.
func TestSecondRegion(t *testing.T) {
	r := newRegions(t)
	random := rand.New(rand.NewPCG(1, 2))
	if !r.first.request(http.MethodPost, "/v2/content/bulk", itemLines(1, 50), http.StatusOK) {
		t.Fatal("the first region has not imported the items")
	}
	f := r.follow()
	// prints waits until the script prints something, because it imports items.
	prints := func() {
		select {
		case <-f.lines:
		default:
		}
		r.first.request(http.MethodPost, "/v2/content/", `{"content_type":"text","caption":"new"}`, http.StatusCreated)
		within(t, time.Minute, "the script imports items", func() bool { return len(f.lines) > 0 })
	}
	for round := range 12 {
		if round == 3 {
			// The second region has an item that the first one lacks. The rule causes a reset.
			r.second.request(http.MethodPost, "/v2/content/bulk", itemLines(1000, 1), http.StatusOK)
			r.first.kill(r.first.rule)
			r.second.kill(r.second.rule)
		}
		if round%2 == 0 {
			prints()
		}
		for range random.IntN(30) {
			r.first.change(random)
		}
		changed := make(chan struct{})
		go func(first region) {
			defer close(changed)
			for range 30 {
				first.change(random)
			}
		}(r.first)
		switch round % 4 {
		case 0:
			r.first.kill(func() {})
		case 1:
			r.second.kill(func() {})
		case 2:
			f.kills <- struct{}{}
		case 3:
			r.second.kill(func() {
				prints() // that it retries
				f.kills <- struct{}{}
			})
		}
		<-changed
	}
	var first, second string
	defer func() {
		if t.Failed() {
			t.Logf("-first +second:\n%s", cmp.Diff(strings.Split(first, "\n"), strings.Split(second, "\n")))
		}
	}()
	within(t, time.Minute, "the regions are equal", func() bool {
		first, second = r.first.export(), r.second.export()
		return first == second
	})
	if lines := strings.Count(first, "\n"); lines < 30 {
		t.Errorf("only %d items are left", lines)
	}
	compare, err := r.script(1).CombinedOutput()
	digests := strings.Fields(string(compare))
	if err != nil || len(digests) != 4 || digests[0] != digests[2] {
		t.Errorf("the regions are not equal: %v\n%s", err, compare)
	}
}

// TestSecondRegionEraseLimit checks that the script does not erase the second region if the first one has lost its items.
func TestSecondRegionEraseLimit(t *testing.T) {
	r := newRegions(t)
	r.second.request(http.MethodPost, "/v2/content/bulk", itemLines(1, 101), http.StatusOK)
	out, err := r.script(0).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the first region lacks 101 items: see ERASE_LIMIT") {
		t.Errorf("error %v:\n%s", err, out)
	}
	if n := strings.Count(r.second.export(), "\n"); n != 101 {
		t.Errorf("%d items are left", n)
	}
}
